"""`wideberth.solve` for data that is read in chunks."""

from __future__ import annotations

import numbers
import sys
import time

from wideberth._validation import check_positive
from wideberth.noise import Correlated, as_shape
from wideberth.scale.chunks import Classes, Terms
from wideberth.scale.opening import open_data
from wideberth.scale.sources import Source
from wideberth.scale.tall import solve_tall
from wideberth.solution import Solution, not_converged, null_model
from wideberth.solve import make_control, read_intercept

__all__ = ["solve_data", "solve_source"]


def solve_data(X, y, *, sample_weight, radius, memory, **options) -> Solution:
    """Open the data and train on it; the parameters are those of `solve`."""
    one = isinstance(radius, numbers.Real)
    source = open_data(
        X,
        y,
        sample_weight=sample_weight,
        radius=None if one else radius,
        memory=memory,
    )
    return solve_source(source, radius=radius if one else 0.0, **options)


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
    if solver not in ("auto", "newton"):
        raise ValueError(
            f"solver={solver!r} needs the data in memory; data that is read in chunks "
            "is solved by 'newton', which 'auto' stands for."
        )
    if init is not None:
        raise ValueError(
            "init is for data in memory; data that is read in chunks starts from a "
            "sample of its rows."
        )
    shape, turn = as_shape(noise, source.d), None
    if isinstance(shape, Correlated):
        turn, shape = shape.axes, shape.principal
    if not shape.smooth:
        raise ValueError(
            f"noise={shape.name!r} needs the data in memory; data that is read in "
            "chunks takes 'l2', one level per feature or a covariance."
        )
    intercept = read_intercept(fit_intercept, intercept_penalty)
    if not isinstance(radius, numbers.Real) or not 0 <= float(radius) < float("inf"):
        raise ValueError(f"radius={radius!r} must be finite and ≥ 0.")
    C = check_positive(C, "C")
    norms: dict | None = {} if source.stays else None
    terms = Terms(source.d, C, float(radius), shape, intercept, classes, turn, norms)
    display = _Display(source, callback) if verbose else None
    control = make_control(
        float("inf"), tol, max_iter, max_seconds, display or callback, started
    )
    found = solve_tall(
        source,
        terms,
        control,
        screen=screening is not None,
        random_state=random_state,
    )
    certificate, seconds = found.certificate, time.perf_counter() - started
    converged = certificate.gap <= control.tol * certificate.primal
    notes = []
    if not converged:
        remedy = None
        if found.tight:
            remedy = (
                "too many rows are near the margin for the memory allowed: raise it"
            )
        notes.append(not_converged(control, certificate, seconds, remedy))
    if not found.w.any():
        notes.append(null_model("at most the one given"))
    return Solution(
        found.w if turn is None else turn @ found.w,
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
