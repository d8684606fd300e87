"""The one kind of exception for what users can mend: their data, files or options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec


class UserError(Exception):
    """Ends a command with exit code 1 and this sentence."""


class FileError(UserError):
    """The same, where the sentence names the file that is wrong."""


@contextmanager
def blamed_on_data() -> Iterator[None]:
    """Take what the library says of its arguments for what users can mend."""
    try:
        yield
    except ValueError as error:
        raise UserError(" ".join(str(error).split())) from error


@contextmanager
def located(where: str) -> Iterator[None]:
    """Begin what is said of the data with its name, unless another file is named."""
    try:
        yield
    except FileError:
        raise
    except UserError as error:
        raise FileError(f"{where}: {error}") from error


def require(module: str, purpose: str) -> None:
    """Say what to install, before any work is done, if a module is missing."""
    if find_spec(module) is None:
        raise UserError(f"{purpose} needs {module}: pip install 'wideberth[cli]'.")
