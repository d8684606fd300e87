"""`wideberth.solve` for data that is read in chunks."""

from __future__ import annotations

import sys
import time

import numpy as np

from wideberth.data.chunks import Classes, DataError, Terms
from wideberth.data.opening import names_values, open_data
from wideberth.data.sources import Source
from wideberth.problem.diagnosis import BLURRED, blur
from wideberth.problem.labels import distinct, two_classes
from wideberth.problem.limits import CACHED_ENTRIES
from wideberth.problem.noise import as_shape
from wideberth.problem.validation import check_number, read_intercept
from wideberth.solution import Solution, not_converged, null_model
from wideberth.solvers.base import Control, make_control
from wideberth.solvers.tall import TallOutcome, solve_tall

__all__ = ["solve_data", "solve_source"]

_MORE_MEMORY = "too many rows are near the margin for the memory allowed: raise it"


def solve_data(X, y, *, sample_weight, radius, memory, **options) -> Solution:
    """Open the data and train on it; the parameters are those of `solve`."""
    one = np.ndim(radius) == 0 and not names_values(X, radius)
    if one:  # before anything is read
        radius = check_number(radius, "radius")
    source = open_data(
        X,
        y,
        sample_weight=sample_weight,
        radius=None if one else radius,
        memory=memory,
    )
    classes = _binary(source)
    return solve_source(
        source, radius=radius if one else 0.0, classes=classes, **options
    )


def _binary(source: Source) -> Classes | None:
    """The two classes of the data; None where they are −1 and +1 already.

    Labels are read until two have been found; a third is noticed when its chunk is.
    """
    found: set = set()
    for y in source.some_labels():
        for start in range(0, y.shape[0], CACHED_ENTRIES):
            found.update(distinct(y[start : min(start + CACHED_ENTRIES, y.shape[0])]))
            if len(found) >= 2:
                break
        if len(found) >= 2:
            break
    if not found:
        raise DataError("No row of the data has a label; there are no rows.")
    try:
        labels = two_classes(list(found))
    except ValueError as error:
        raise DataError(str(error)) from None
    signs = labels.dtype.kind in "if" and labels.tolist() == [-1, 1]
    return None if signs else Classes(labels, 1, complete=False)


def solve_source(
    source: Source,
    *,
    C,
    radius,
    noise,
    fit_intercept,
    intercept_penalty,
    solver,
    screening,
    tol,
    max_iter,
    max_seconds,
    callback,
    random_state,
    init=None,
    verbose=False,
    classes: Classes | None = None,
) -> Solution:
    """Train on an open source."""
    started = time.perf_counter()
    _check_possible(solver, init)
    terms = _terms(source, C, radius, noise, fit_intercept, intercept_penalty, classes)
    watch = _Display(source, callback) if verbose else callback
    control = make_control(float("inf"), tol, max_iter, max_seconds, watch, started)
    screen = screening is not None
    found = solve_tall(source, terms, control, screen=screen, random_state=random_state)
    return _solution(found, terms, control)


def _check_possible(solver, init) -> None:
    """Refuse what needs the data in memory."""
    name = getattr(solver, "name", solver)
    if name not in ("auto", "newton"):
        raise ValueError(
            f"solver={name!r} needs the data in memory; data that is read in chunks "
            "is solved by 'newton', which 'auto' stands for."
        )
    if init is not None:
        raise ValueError(
            "init is for data in memory; data that is read in chunks starts from a "
            "sample of its rows."
        )


def _terms(
    source: Source, C, radius, noise, fit_intercept, intercept_penalty, classes
) -> Terms:
    """Check what the problem is made of, but for its rows."""
    shape = as_shape(noise, source.d, source.names)
    turn, shape = shape.axes, shape.principal
    if not shape.smooth:
        raise ValueError(
            f"noise={shape.name!r} needs the data in memory; data that is read in "
            "chunks takes 'l2', one level per feature or a covariance."
        )
    return Terms(
        source.d,
        check_number(C, "C", positive=True),
        check_number(radius, "radius"),
        shape,
        read_intercept(fit_intercept, intercept_penalty),
        classes,
        turn,
        {} if source.stays else None,
    )


def _solution(found: TallOutcome, terms: Terms, control: Control) -> Solution:
    certificate, seconds = found.certificate, time.perf_counter() - control.started
    converged = certificate.proves(control.tol)
    classes = np.array([-1, 1])
    if terms.classes is not None and len(terms.classes.labels) == 2:
        classes = terms.classes.labels
    notes = []
    if not converged:
        remedy = _MORE_MEMORY if found.tight else None
        if remedy is None and blur(terms.noise) > 1e6 and not control.exhausted():
            remedy = f"rounding forbids more: {BLURRED}"
        notes.append(not_converged(control, certificate, seconds, remedy))
    elif not found.w.any():
        notes.append(null_model("at most the one given", found.noisy))
    return Solution(
        found.w if terms.turn is None else terms.turn @ found.w,
        found.b,
        found.alpha,
        certificate,
        bool(converged),
        "newton",
        control.steps,
        float(found.reads),
        seconds,
        found.removed,
        found.saturated,
        control.trace,
        tuple(notes),
        classes,
    )


class _Display:
    """One line on standard error: reads done, the chunk being read, the gap."""

    def __init__(self, source: Source, callback):
        self.callback, self.reads, self.gap = callback, 0, float("nan")
        self.live = sys.stderr.isatty()
        source.watch = self.watch if self.live else None

    def watch(self, chunks: int) -> None:
        """Show how far the present read is."""
        text = f"read {self.reads + 1}, chunk {chunks}"
        if self.gap == self.gap:
            text += f", relative gap {self.gap:.1e}"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def __call__(self, entry: dict) -> bool | None:
        """Take in a certified point; the user's callback comes next."""
        self.reads = int(entry["passes"])
        self.gap = entry["gap"] / entry["primal"] if entry["primal"] > 0 else 0.0
        start = "\r\x1b[K" if self.live else ""
        sys.stderr.write(
            f"{start}read {self.reads}: objective {entry['primal']:.6g}, relative gap "
            f"{self.gap:.1e}, {entry['free']} rows not settled\n"
        )
        return None if self.callback is None else self.callback(entry)
