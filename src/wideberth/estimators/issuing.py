"""Warnings of fits: all there is to say of one model, and once what a search repeats.

The numbers in a warning differ from fold to fold, so a search would show one for each
of its fits. There they are left out, and what is the same is said once.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakKeyDictionary

from wideberth.results import NullModelWarning

_NULL = (
    "Some models of this search are w = 0, constant classifiers: noise or penalty "
    "outweigh what separates the classes. Fit one by itself to see its critical radius."
)
_NOT_PROVEN = (
    "Some models of this search are not proven to tol; raise max_iter or max_seconds, "
    "or fit one by itself to see how far it came."
)
#: Where scikit-learn's searches and cross-validations are, and where they fit folds.
_SEARCHES, _FOLDS = "sklearn.model_selection.", "sklearn.model_selection._validation"
#: What has been said in the search of this package under way, if there is one.
_told: ContextVar[set[str] | None] = ContextVar("told", default=None)
#: The same of scikit-learn's searches, by the `Parallel` that each of them makes.
_told_there: WeakKeyDictionary = WeakKeyDictionary()
#: And of those whose fits are in processes of their own, for the whole of each.
_told_here: set[str] = set()


@contextmanager
def told_once(told: set[str] | None = None) -> Iterator[set[str]]:
    """Say once what fits within warn of; `told` is what has been said already."""
    told = set() if told is None else told
    token = _told.set(told)
    try:
        yield told
    finally:
        _told.reset(token)


def issue(notes: Iterable[Warning], stacklevel: int) -> None:
    """Issue the warnings of a fit, pointing at whoever called it."""
    notes = list(notes)
    told = _told_in_search() if notes else None
    for note in notes:
        if told is not None:
            note = _brief(note)
            if str(note) in told:
                continue
            told.add(str(note))
        warnings.warn(note, stacklevel=stacklevel + 1)


def _brief(note: Warning) -> Warning:
    """The same of any model of a search."""
    if isinstance(note, NullModelWarning):
        return NullModelWarning(_NULL)
    if type(note).__name__ == "ConvergenceWarning":
        return type(note)(_NOT_PROVEN)
    return note


def _told_in_search() -> set[str] | None:
    """What the search said that called for the fit under way; None outside of one."""
    if _told.get() is not None:
        return _told.get()
    told, frame = None, sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module == _FOLDS:
            told = _told_here
        if told is not None and module.startswith(_SEARCHES):
            parallel = frame.f_locals.get("parallel")
            if parallel is not None:
                return _told_there.setdefault(parallel, set())
        frame = frame.f_back  # type: ignore[assignment]
    return told
