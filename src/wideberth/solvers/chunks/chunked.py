"""`wideberth.solve` for data that is read in chunks."""

from __future__ import annotations

import logging
import sys
import time
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from wideberth.data.chunks import Chunk, Classes, DataError, Terms
from wideberth.data.opening import names_values, open_labelled
from wideberth.data.sources import Source
from wideberth.notes import not_converged, null_model
from wideberth.problem.diagnosis import BLURRED, blur
from wideberth.problem.folded import Folded
from wideberth.problem.labels import distinct, two_classes
from wideberth.problem.limits import CACHED_ENTRIES
from wideberth.problem.measured import check_errors_alone
from wideberth.problem.noise import as_shape
from wideberth.problem.ramp import Beyond, check_ramp
from wideberth.problem.read_errors import read_errors
from wideberth.problem.validation import (
    check_number,
    radius_or_default,
    read_intercept,
)
from wideberth.solution import Solution
from wideberth.solvers.base import Control, make_control
from wideberth.solvers.batches import Batches, Draw
from wideberth.solvers.chunks.distinct import TABLE_SHARE, Collapsed, DistinctRows
from wideberth.solvers.driver import Driver
from wideberth.solvers.merge import Grouping
from wideberth.solvers.ramp.chunked_descent import DescendedInChunks, DescentInChunks
from wideberth.solvers.ramp.descent import check_starts
from wideberth.solvers.work import Work

_log = logging.getLogger(__name__)
#: Matrices of features × features that are held at once (8 000 features, at 512 MB a
#: matrix, took 1.1 GB of memory).
_MATRICES = 3
_MORE_MEMORY = "too many rows are near the margin for the memory allowed: raise it"


def solve_data(
    X,
    y,
    *,
    sample_weight,
    radius,
    noise,
    memory,
    X_err=None,
    error_shape=None,
    **options,
) -> Solution:
    """Open the data and train on it; the parameters are those of `solve`."""
    one = np.ndim(radius) == 0 and not names_values(X, radius)
    if one:  # before anything is read
        check_number(radius_or_default(radius, noise), "radius")
    source = open_labelled(
        X,
        y,
        sample_weight=sample_weight,
        radius=None if one else radius,
        X_err=X_err,
        memory=memory,
    )
    options |= {"classes": _binary(source), "error_shape": error_shape}
    radius = radius_or_default(radius, noise, source.layout) if one else 0.0
    return solve_source(source, radius=radius, noise=noise, **options)


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
    error_shape: str | None = None,
    norm_penalty: float = 0.0,
    ramp: float | None = None,
    starts: int = 1,
) -> Solution:
    """Train on an open source; `error_shape` is that of the errors it may bring."""
    started = time.perf_counter()
    _check_possible(solver, init)
    intercept = read_intercept(fit_intercept, intercept_penalty)
    _check_room(source)
    terms = _terms(source, C, radius, noise, intercept, classes, error_shape)
    watch = _logged(_Display(source, callback) if verbose else callback)
    control = make_control(
        None, tol, max_iter, max_seconds, watch, started, random_state
    )
    chunks, level = Chunks(source, terms, norm_penalty), check_ramp(ramp)
    starts = check_starts(starts)
    search = Driver(chunks, control)
    begun = search.begin()
    few = chunks.collapsed(begun)
    if level > -np.inf:
        if few is not None:
            descended = few.descend(control, level, starts)
        else:
            descent = DescentInChunks(chunks, level, control)
            descended = descent.run(starts, begun)
        found = descended.search, screening, terms, control, descended
        return _solution(*found, later=source.stays)
    if few is not None:
        few.run(control)
    else:
        search.run(begun)
    return _solution(few or search, screening, terms, control, later=source.stays)


class Chunks(Batches):
    """Rows of a source, chunk by chunk."""

    def __init__(self, source: Source, terms: Terms, norm_penalty: float = 0.0):
        self.source, self.terms = source, terms
        self.n, self.d, self.stays = source.n, terms.d, source.stays
        self.shared = terms.error_shape is None
        self.noise, self.intercept = terms.noise, terms.intercept
        self.capacity = source.capacity()
        s, boxes = check_number(norm_penalty, "norm_penalty"), None
        if not self.shared:
            none = np.zeros((0, self.d))
            boxes = read_errors(none, terms.error_shape or "box", none.shape)
        self.penalty = Folded.penalty(s, self.d, boxes)
        self.beyond: Beyond | None = None
        # Labels and weights per row are kept beside them.
        kept = source.spares(12 * (source.n or 0))
        self.distinct = DistinctRows(TABLE_SHARE * self.capacity, kept)
        self.checked = False  # whether all rows were, by a first read

    def without(self, beyond: Beyond | None) -> Chunks:
        """The same without the rows that the ramp leaves out."""
        chunks = copy(self)
        chunks.beyond = beyond
        return chunks

    def ask(self, question):
        """Put a question to the problem on the rows of each chunk."""
        asked = _Asked(self.terms, question, self.beyond, not self.checked)
        for answer in self.source.map(asked):
            if self.distinct is not None and isinstance(question, Draw):
                self.distinct.add(answer.number, answer.equal)
                answer = replace(answer, equal=None)
            yield answer
        self.checked = True

    def collapsed(self, first: Work) -> Collapsed | None:
        """The problem on few distinct rows, where the first pass found no others."""
        distinct, self.distinct = self.distinct, None  # asked for once
        problem = distinct.problem()
        if problem is None:
            return None
        first.check_classes()
        return Collapsed(self, distinct, problem)

    def grouping(self, n):
        """Half of the room for single rows, a quarter for groups.

        All are in float64, and solved as a whole: two copies do.
        """
        wide = self.source.capacity(2, 8 * self.d)
        capacity = min(wide, self.capacity)
        return Grouping(capacity // 2, 0.25 * capacity / n)

    def spares(self, size):
        """Whether the source leaves room for that."""
        return self.source.spares(size)


@dataclass(frozen=True)
class _Asked:
    """A question to batches as one to chunks."""

    terms: Terms
    question: Any
    beyond: Beyond | None = None
    check: bool = False  # whether the data is read for the first time

    def __call__(self, chunk: Chunk):
        """What the chunk answers."""
        problem = self.terms.problem(chunk, check=self.check)
        if self.beyond is not None:
            problem = self.beyond.rest(problem)
        return self.question(chunk.number, problem)

    def part(self, number: int) -> _Asked:
        """What of this question concerns one chunk."""
        if isinstance(self.question, Draw):
            return self
        return replace(self, question=self.question.part(number))


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


def _check_room(source: Source) -> None:
    """Refuse more features than their matrices leave room for."""
    size, room = _MATRICES * 8 * source.d**2, source.room
    if size > room:
        raise DataError(
            f"The data has {source.d} features, and to train on data in chunks takes "
            f"matrices of features × features, {size / 1e9:.3g} GB, where there is "
            f"room for {room / 1e9:.3g} GB. Sparse rows may fit in memory whole: give "
            "a SciPy matrix, or on the command line no --memory. Otherwise choose "
            "fewer features, or raise memory."
        )


def _terms(source: Source, C, radius, noise, intercept, classes, error_shape) -> Terms:
    """Check what the problem is made of, but for its rows."""
    d, layout = source.d, source.layout
    if layout is not None:
        check_errors_alone(noise, error_shape)
    shape = as_shape(noise, d, source.names)
    turn, shape = shape.axes, shape.principal
    return Terms(
        d,
        check_number(C, "C", positive=True),
        check_number(radius, "radius"),
        shape,
        intercept,
        classes,
        turn,
        {} if source.stays else None,
        None if layout is None else error_shape,
        layout,
    )


def _solution(
    search: Driver | Collapsed,
    screening,
    terms: Terms,
    control: Control,
    descended: DescendedInChunks | None = None,
    *,
    later: bool,
) -> Solution:
    """What was found; what is proven of the rows may be asked `later`."""
    certificate, point = (descended or search).certificate, search.point
    alpha: Any = partial(_dual_weights, search)
    decided: Any = partial(_decided, search, screening)
    if not later:
        alpha, *decided = search.dual_weights(screening)
    seconds = time.perf_counter() - control.started
    converged = certificate.proves(control.tol)
    classes = np.array([-1, 1])
    if terms.classes is not None and len(terms.classes.labels) == 2:
        classes = terms.classes.labels
    notes = []
    if not converged:
        remedy = _MORE_MEMORY if search.crowded else None
        if remedy is None and blur(terms.noise) > 1e6 and not control.exhausted():
            remedy = f"rounding forbids more: {BLURRED}"
        notes.append(not_converged(control, certificate, seconds, remedy))
    elif not point.w.any():
        noisy = search.proof is not None and search.proof.dual.s > 0
        noisy = noisy or terms.error_shape is not None
        penalised = search.batches.penalty is not None
        ramp = descended is not None and descended.cost > 0
        notes.append(null_model("at most the one given", noisy, penalised, ramp))
    return Solution(
        point.w if terms.turn is None else terms.turn @ point.w,
        point.b,
        alpha,
        certificate,
        bool(converged),
        "newton",
        control.steps,
        float(search.passes + (descended.passes if descended else 0)),
        seconds,
        decided,
        control.trace,
        tuple(notes),
        classes,
        None if descended is None else descended.report,
    )


def _dual_weights(search: Driver | Collapsed) -> Any:
    """α of all rows, asked when the run is over."""
    return search.dual_weights(None)[0]


def _decided(search: Driver | Collapsed, screening) -> tuple[Any, Any]:
    """What is proven of the rows, asked when the run is over."""
    _, removed, saturated = search.dual_weights(screening, recorded=False)
    return removed, saturated


def _logged(callback):
    """Tell the logger of every certified point; then the callback, if there is one."""

    def certified(entry: dict) -> bool | None:
        _log.info(
            "after %d reads: objective %.6g, gap %.2e, %d rows not settled, %.1f s",
            *(entry[name] for name in ("passes", "primal", "gap", "free", "seconds")),
        )
        return None if callback is None else callback(entry)

    return certified if callback is None or callable(callback) else callback


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
