"""Warnings of other libraries that say nothing to users of this one."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quietly(message: str = "") -> Iterator[None]:
    """Ignore warnings that begin with `message`; all of them by default.

    Filters belong to all threads of a program, so others than the main one leave them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=message)
        yield
