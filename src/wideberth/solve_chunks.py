"""`solve` for data that is read in chunks."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from functools import partial

import numpy as np

from wideberth.data.batches import Chunks, Collapsed
from wideberth.data.chunks import Classes, DataError, Terms
from wideberth.data.opening import names_values, open_labelled
from wideberth.data.sources import Source
from wideberth.noise import as_shape
from wideberth.noise.reading import check_errors_alone
from wideberth.notes import null_model
from wideberth.problem.changes import blur
from wideberth.problem.labels import distinct, two_classes
from wideberth.problem.limits import CACHED_ENTRIES
from wideberth.problem.statement import Statement
from wideberth.problem.validation import check_number, radius_or_default
from wideberth.results import RampDescent, Solution, certified_solution
from wideberth.solvers.base import Control, Options
from wideberth.solvers.driver import Driver
from wideberth.solvers.ramp import Descended, DescentInChunks

_log = logging.getLogger(__name__)
#: Matrices of features × features that are held at once (8 000 features, at 512 MB a
#: matrix, took 1.1 GB of memory).
_MATRICES = 3
_MORE_MEMORY = "too many rows are near the margin for the memory allowed: raise it"


def solve_data(
    X, y, statement: Statement, options: Options, memory=None, verbose: bool = False
) -> Solution:
    """Open the data and train on it."""
    radius, noise = statement.radius, statement.noise
    one = radius is None or (np.ndim(radius) == 0 and not names_values(X, radius))
    if one:  # before anything is read
        check_number(radius_or_default(radius, noise), "radius")
    source = open_labelled(
        X,
        y,
        sample_weight=statement.sample_weight,
        radius=None if one else radius,
        X_err=statement.X_err,
        memory=memory,
    )
    radius = radius_or_default(radius, noise, source.layout) if one else 0.0
    statement = replace(statement, radius=radius)
    return solve_source(source, statement, options, _binary(source), verbose)


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
    statement: Statement,
    options: Options,
    classes: Classes | None = None,
    verbose: bool = False,
) -> Solution:
    """Train on an open source, which brings weights and errors, if any, of its own."""
    _check_possible(options)
    _check_room(source)
    terms = _terms(source, statement, classes)
    watch = _ReadingLine(source, options.callback) if verbose else options.callback
    control = replace(options, callback=_logged(watch)).control()
    chunks = Chunks(source, terms, float(statement.norm_penalty))
    search, level = Driver(chunks, control), statement.level
    begun = search.begin()
    few = chunks.collapsed()
    build = partial(_solution, terms=terms, control=control, later=source.stays)
    if level == -np.inf:
        if few is None:
            search.run(begun)
        else:
            few.run(control)
        return build(few or search)
    if few is not None:
        return build(few, descended=few.descend(control, level, options.starts))
    descent = DescentInChunks(chunks, level, control)
    descended = descent.run(options.starts, begun)
    read = descent.passes - descended.found.passes
    return build(descended.found, descended=descended, read=read)


def _check_possible(options: Options) -> None:
    """Refuse what needs the data in memory."""
    name = getattr(options.solver, "name", options.solver)
    if name not in ("auto", "newton"):
        raise ValueError(
            f"solver={name!r} needs the data in memory; data that is read in chunks "
            "is solved by 'newton', which 'auto' stands for."
        )
    if options.init is not None:
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


def _terms(source: Source, statement: Statement, classes: Classes | None) -> Terms:
    """What the problem is made of, but for its rows."""
    d, layout = source.d, source.layout
    if layout is not None:
        check_errors_alone(statement.noise, statement.error_shape)
    shape = as_shape(statement.noise, d, source.names)
    turn, shape = shape.axes, shape.principal
    return Terms(
        d,
        float(statement.C),
        check_number(statement.radius_or_default, "radius"),
        shape,
        statement.intercept,
        classes,
        turn,
        {} if source.stays else None,
        None if layout is None else statement.error_shape,
        layout,
    )


def _solution(
    search: Driver | Collapsed,
    terms: Terms,
    control: Control,
    later: bool,
    descended: Descended | None = None,
    read: int = 0,
) -> Solution:
    """What was found; what is proven of the rows may be asked `later`.

    Passes that were `read` beside those of a search count too.
    """
    point, certificate, descent = search.point, search.certificate, None
    if descended is not None:
        certificate, mask = descended.certificate, descended.left.mask
        how = descended.objectives, descended.start, descended.ending
        descent = RampDescent(descended.level, mask, *how)
    region = control.screening
    alpha: object = partial(_dual_weights, search)
    decided: object = partial(_decided, search, region)
    if not later:
        alpha, *decided = search.dual_weights(region)
    classes = np.array([-1, 1])
    if terms.classes is not None and len(terms.classes.labels) == 2:
        classes = terms.classes.labels

    def remedy() -> str | None:
        if search.crowded:
            return _MORE_MEMORY
        blurred = blur(terms.noise, terms.d) > 1e6 and not control.exhausted()
        return f"rounding forbids more: {terms.noise.remedy}" if blurred else None

    def null() -> Warning:
        noisy = search.proof is not None and search.proof.dual.s > 0
        noisy = noisy or terms.error_shape is not None
        penalised = search.batches.penalty > 0
        ramp = descended is not None and descended.left.cost > 0
        return null_model("at most the one given", noisy, penalised, ramp)

    return certified_solution(
        control,
        certificate,
        remedy,
        null,
        w=point.w if terms.turn is None else terms.turn @ point.w,
        b=point.b,
        dual_weights=alpha,
        decided=decided,
        solver="newton",
        passes=float(search.passes + read),
        classes=classes,
        descent=descent,
    )


def _dual_weights(search: Driver | Collapsed):
    """α of all rows, asked when the run is over."""
    return search.dual_weights(None)[0]


def _decided(search: Driver | Collapsed, region: str | None) -> tuple:
    """What is proven of the rows, asked when the run is over."""
    return search.dual_weights(region, recorded=False)[1:]


def _logged(callback):
    """Tell the logger of every certified point; then the callback, if there is one."""

    def certified(entry: dict) -> bool | None:
        _log.info(
            "after %d reads: objective %.6g, gap %.2e, %d rows not settled, %.1f s",
            *(entry[name] for name in ("passes", "primal", "gap", "free", "seconds")),
        )
        return None if callback is None else callback(entry)

    return certified if callback is None or callable(callback) else callback


class _ReadingLine:
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
