"""`path`: the robust SVM along C and radius or norm penalty, each with a certificate.

The work is done by `solvers/paths.py`; here are the arguments, the answer is a `Path`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from wideberth.problem.changes import (
    Presolved,
    build_problem,
    check_radii,
    merge_rows,
    out_of_range,
)
from wideberth.problem.endpoints import saturation_scale
from wideberth.problem.statement import Statement, check_ramp, from_keywords
from wideberth.problem.validation import (
    check_number,
    check_per_sample,
    refuse_masked,
    short,
)
from wideberth.results import (
    Counts,
    NullModelWarning,
    Path,
    PathPoint,
    convergence_warning,
    not_proven,
)
from wideberth.screening import Partition
from wideberth.screening.ranges import RangeProof
from wideberth.solvers.base import Control, Options
from wideberth.solvers.paths import Found, Sequence
from wideberth.solvers.registry import check_choices, choose_solver
from wideberth.solvers.spans import Along, complete_spans

#: Largest number of rows, of all points together, at which points keep their margins
#: to count later what they decide: a bound on memory, some 150 MB.
_KEPT_ROWS = 1 << 22
#: Largest move of a sample's own margin, c_i‖x_i‖², on the default path: a choice.
_LARGEST_PUSH = 100.0
#: Least ratio of the ends of the default path, where the rules for them leave less: a
#: choice.
_LEAST_SPAN = 1e3


def path(
    X,
    y,
    *,
    Cs=30,
    radii=None,
    radius=None,
    noise="l2",
    X_err=None,
    error_shape="ellipsoid",
    norm_penalty=0.0,
    norm_penalties=None,
    ramp=None,
    ramps=None,
    fit_intercept=True,
    intercept_penalty=0.0,
    sample_weight=None,
    loss="hinge",
    quantile=0.5,
    complete=None,
    solver="auto",
    screening="ellipsoid",
    tol=1e-6,
    max_iter=10_000,
    max_seconds=None,
    callback: Callable[[dict], bool | None] | None = None,
    random_state=None,
    keep_alphas=False,
    quiet=False,
) -> Path:
    """Train robust models over C and radius or norm penalty, with certificates.

    Every point uses its neighbours: they prove that some samples cannot matter
    (sequential screening), and they predict a starting point.

    Parameters
    ----------
    X, y : array or CSR matrix of shape (n, d); array of shape (n,)
        In memory; arrays of other libraries are copied. Labels of two classes, or with
        loss="quantile" numbers to predict.
    Cs : int or array
        Number of values of C, or the values, in any order. A number is spaced evenly in
        log C, from the C at which every sample is saturated at the smallest radius (α_i
        = C) to 100 / mean ‖x_i‖². With a free intercept and classes of different weight
        not all samples can be saturated; then the weights of the heavier class are
        reduced to compute the smallest C.
    radii : array, optional
        Radii of the noise, in any order: factors on the scales of `noise`, on `X_err`,
        or on `radius`, if given. By default only 1 with any of these, and only 0 for a
        norm without scales, such as "l2".
    radius : array of shape (n,), optional
        Factors for single samples: sample i has ρ_i = radii[k] · radius[i].
    norm_penalties : array, optional
        Norm penalties in any order, in place of several radii.
    ramps : list of float or None, optional
        Levels of the ramp in any order, in place of several radii; None and −∞ are the
        hinge loss. Each point starts from the previous one or from the hinge loss,
        whichever is better.
    complete : float, optional
        Relative gap, larger than `tol`, to prove at every value of a range: one of
        `Cs`, `radii` and `norm_penalties` is a tuple (low, high), the others have one
        value, such as Cs=[1.0]. The path chooses its points, and `Path.at` interpolates
        between them.
    max_iter : int
        Largest number of iterations of one point.
    max_seconds : float, optional
        Stop after about this time for all points together.
    callback : callable, optional
        Called with a dict at every point whose gap is known, which also holds "C",
        "radius", "norm_penalty" and "ramp"; return True to stop.
    keep_alphas : bool
        Keep the dual variables of every point in `Path.alphas`.
    quiet : bool
        Leave warnings in `Path.notes` instead of issuing them.
    noise, X_err, error_shape, norm_penalty, ramp, fit_intercept, intercept_penalty
    sample_weight, loss, quantile, solver, screening, tol, random_state
        As in `solve`, for every point.

    Returns
    -------
    Path
        If `max_seconds`, the callback or Ctrl-C ends it early, it has the points that
        were reached.

    Warns
    -----
    ConvergenceWarning
        Once, if `tol` was not proven for some points, or some were not reached.
    NullModelWarning
        Once, if the best robust model is constant (w = 0) at some points.

    Examples
    --------
    >>> from wideberth import path
    >>> from wideberth.datasets import load_breast_cancer, paper_preprocess
    >>> X, y = load_breast_cancer()
    >>> models = path(paper_preprocess("breast_cancer", X), y, Cs=5, radii=[0, 0.1])
    >>> models.coefs.shape, bool(models.relative_gaps.max() <= 1e-6)
    ((2, 5, 30), True)

    With a model for every C in a range:

    >>> X = paper_preprocess("breast_cancer", X)
    >>> models = path(X, y, Cs=(0.01, 1.0), complete=1e-3)
    >>> models.at(0.1234).relative_gap <= 1e-3
    True
    """
    given = locals()
    statement, options = from_keywords(Statement, given), from_keywords(Options, given)
    alphas = {"keep_alphas": keep_alphas, "until": KeyboardInterrupt}
    if complete is None:
        levels = read_levels(statement, radii, norm_penalties, ramps)
        found = follow(X, y, statement, Cs, levels, options, **alphas)
    else:
        check_number(complete, "complete", positive=True)
        ends = read_range(statement, Cs, radii, norm_penalties, ramps)
        found = follow_range(X, y, statement, ends, complete, options, **alphas)
    for note in () if quiet else found.notes:
        warnings.warn(note, stacklevel=2)
    return found


def follow(
    X,
    y,
    statement: Statement,
    Cs,
    levels: np.ndarray,
    options: Options,
    *,
    keep_alphas: bool = False,
    proofs: bool = True,
    until: type[BaseException] | tuple = (),
) -> Path:
    """`path` over levels of a grid (`read_levels`); warnings stay in `Path.notes`.

    `until` are exceptions that end the path where it is; without `proofs` nothing is
    computed about the samples that final certificates decide.
    """
    factor = None if np.ndim(Cs) == 0 else float(np.max(read_Cs(Cs, [])))
    units, control = _prepared(X, y, statement, factor, levels[:, 0].max(), options)
    problem = units.problem
    with np.errstate(all="ignore"):
        least = units.level(levels[:, 0].min(), levels[:, 1].min())
        values = read_Cs(Cs, [replace(units, problem=least)])
        hardest = units.posed.times(values.max())
    solver = choose_solver(hardest, options.solver, along_path=True)
    sequence = Sequence(units, control, solver, proofs)
    points, reason = dict[tuple[int, int], PathPoint](), ""
    try:
        with np.errstate(all="ignore"):
            for where, result in _results(sequence, values, levels):
                at = float(values[where[1]]), *levels[where[0]].tolist()
                few = len(points) * problem.n <= _KEPT_ROWS
                points[where] = _point(at, result, units, keep_alphas, few)
        if len(points) < values.size * len(levels):
            reason = "stopped by max_seconds or the callback"
    except until:
        reason = "interrupted"
    shape = units.n, problem.rows.d
    found = Path(
        values, levels, points, *shape, solver.name, keep_alphas, problem.classes
    )
    found.notes = tuple(_notes(found, reason, options.tol, _remedy(found, units)))
    return found


def _prepared(
    X, y, statement: Statement, factor: float | None, radius: float, options: Options
) -> tuple[Presolved, Control]:
    """The problem at C = 1 and factor 1 on the radii, and the limits of each point.

    `factor` is the largest C, or None; `radius` the largest factor on the radii.
    """
    check_choices(options.solver, options.screening)
    radii = 1.0 if statement.radius is None else statement.radius
    unit = replace(statement, C=1.0, radius=radii, norm_penalty=0.0, ramp=None)
    units = build_problem(X, y, unit, factor)
    check_radii(units, radius)
    units = merge_rows(units)
    in_units = replace(options, callback=units.callback(options.callback))
    return units, in_units.control(units.problem)


def follow_range(
    X,
    y,
    statement: Statement,
    ends: dict[str, tuple[float, float]],
    tol: float,
    options: Options,
    *,
    keep_alphas: bool = False,
    until: type[BaseException] | tuple = (),
) -> Path:
    """`path` over a range (`read_range`) with models of gap `tol` at every value.

    `until` are exceptions that end the path where it is.
    """
    if not tol > options.tol:
        raise ValueError(
            f"complete={tol:g} must be larger than tol={options.tol:g}, the gap of the "
            "points that are solved for; lower tol."
        )
    (axis,) = [name for name, (low, high) in ends.items() if low < high]
    C, radius = ends["C"][1], ends["radius"][1]
    units, control = _prepared(X, y, statement, C, radius, options)
    first = {name: low for name, (low, _) in ends.items()}
    proofs, reason = dict[tuple[float, float], RangeProof](), ""
    with np.errstate(all="ignore"):
        hardest = units.level(radius, ends["norm_penalty"][1]).times(C)
        solver = choose_solver(hardest, options.solver, along_path=True)
        along = Along(
            units,
            control,
            solver,
            axis,
            C=first["C"],
            radius=first["radius"],
            norm_penalty=first["norm_penalty"],
        )
        try:
            for span in complete_spans(along, *ends[axis], tol):
                proofs[span.first.at, span.last.at] = units.proof(span.proof)
        except until:
            reason = "interrupted"
    if not reason and control.interrupted():
        reason = "stopped by max_seconds or the callback"
    at = np.array(sorted(along.found))
    levels = np.array([[first["radius"], first["norm_penalty"], -np.inf]])
    if axis != "C":
        levels = np.repeat(levels, at.size, axis=0)
        levels[:, ("radius", "norm_penalty").index(axis)] = at
    values = at if axis == "C" else np.array([C])
    points = dict[tuple[int, int], PathPoint]()
    for j, value in enumerate(at.tolist()):
        where = (0, j) if axis == "C" else (j, 0)
        place = values[where[1]], *levels[where[0]].tolist()
        few = len(points) * units.problem.n <= _KEPT_ROWS
        points[where] = _point(place, along.found[value], units, keep_alphas, few)
    shape, classes = (units.n, units.problem.rows.d), units.problem.classes
    found = Path(values, levels, points, *shape, solver.name, keep_alphas, classes)
    found.axis, found.tolerance, found.proofs = axis, tol, proofs
    notes = _notes(found, "", options.tol, _remedy(found, units))
    found.notes = (*notes, *_open_ranges(found, ends[axis], tol, reason))
    return found


def _open_ranges(
    found: Path, ends: tuple[float, float], tol: float, reason: str
) -> list[Warning]:
    """A warning about the parts of a range where the gap asked for is not proven."""
    left, reached = [], ends[0]
    for (first, last), proof in found.proofs.items():
        reached = last
        if not proof.excess(tol) <= 1:
            left.append((first, last))
    if reached < ends[1]:
        left.append((reached, ends[1]))
    if not left:
        return []
    why = f"it was {reason}" if reason else "rounding, or max_iter, forbids more"
    parts = ", ".join(f"from {first:g} to {last:g}" for first, last in left)
    said = f"complete={tol:g} is not proven for {found.axis} {parts}, since {why}."
    return [convergence_warning(f"The path is not complete: {said}")]


def _remedy(found: Path, units: Presolved) -> str:
    """What may help where points are not proven: the far end of the grid tells."""
    if found.converged[found.done].all():
        return ""
    with np.errstate(all="ignore"):
        problem = units.level(found.radii.max(), found.norm_penalties.max())
        return out_of_range(problem.times(found.Cs.max()), units) or "raise tol"


def _results(
    sequence: Sequence, values: np.ndarray, levels: np.ndarray
) -> Iterator[tuple[tuple[int, int], Found]]:
    """Every point, solved once, wherever it is asked for.

    C, the radius and the ramp ascend, that is from the hinge on; penalties descend, for
    few features come first.
    """
    Cs, which_C = np.unique(values, return_inverse=True)
    signs = np.array([1.0, -1.0, 1.0])
    ordered, which = np.unique(signs * levels, axis=0, return_inverse=True)
    rows = [np.flatnonzero(which == k).tolist() for k in range(len(ordered))]
    columns = [np.flatnonzero(which_C == j).tolist() for j in range(len(Cs))]
    for k, j, result in sequence.points(Cs, signs * ordered):
        for where in product(rows[k], columns[j]):
            yield where, result


def _point(
    at: tuple[float, float, float, float],
    found: Found,
    units: Presolved,
    alphas: bool,
    few: bool,
) -> PathPoint:
    """One model in the user's units.

    With `few` rows it counts what it decides when asked, and keeps its pair for that.
    """
    outcome, control, n = found.outcome, found.control, units.n
    point, certificate = outcome.point, units.certificate(found.certificate)
    converged, left_out = outcome.status == "solved", 0
    if found.descended is not None:
        left_out = int(units.left_out(found.descended.left.samples).sum())

    def counts(known: Partition | None) -> Counts:
        if known is None:
            return n, 0, 0
        return units.counts(known.removed, known.saturated)

    def decided() -> Counts:
        if found.proven is None:
            return n, 0, 0
        with np.errstate(all="ignore"):  # what overflows decides nothing
            return counts(found.proven())

    return PathPoint(
        *at,
        w=units.weights(point.w),
        b=units.intercept(point.b),
        objective=certificate.primal,
        gap=certificate.gap,
        relative_gap=certificate.relative_gap,
        converged=converged,
        null=converged and not point.w.any(),
        n_iter=control.steps,
        passes=found.passes,
        seconds=found.seconds,
        undecided=counts(found.decided)[0],
        left_out=left_out,
        trace=[units.entry(entry) for entry in control.trace],
        alpha=units.dual_weights(outcome.dual.alpha, at[0]) if alphas else None,
        decided=decided if few and found.proven is not None else decided(),
    )


def _notes(found: Path, reason: str, tol: float, remedy: str) -> list[Warning]:
    """Warnings about a path that ended early, about gaps, and about w = 0."""
    notes: list[Warning] = []
    if reason:
        notes.append(
            convergence_warning(
                f"The path was {reason}: {len(found)} of {found.done.size} points "
                "were reached; `done` shows which."
            )
        )
    left, of = found.done & ~found.converged, f"{len(found)} points"
    advice = "`converged` shows which. Raise max_iter; if that does not help, "
    notes += not_proven(left, found.relative_gaps, tol, of, advice + remedy)
    if not found.null.any():
        return notes
    dead = found.null.any(axis=1)
    least, penalty = found.radii[dead].min(), found.norm_penalties[dead].min()
    level, why = f"radius {least:g}", "the noise hides what X says about y"
    if penalty > 0:
        level = f"norm penalty {penalty:g}"
        why = "the noise and the penalty outweigh what X says about y"
    elif least == 0 or not found.objectives[found.null].any():
        why = "X says nothing about y, or one class has no weight"
    said = (
        f"The best robust model is w = 0, a constant prediction, at {found.null.sum()} "
        f"of {len(found)} points, from {level} on: {why}. `null` shows which."
    )
    return [*notes, NullModelWarning(said)]


# -- grids -----------------------------------------------------------------------------


def C_range(presolved: Presolved) -> tuple[float, float]:
    """Ends of the default path, as factors on the weights.

    The lower one is where every sample saturates (`saturation_scale`). With a free
    intercept and classes of different weight that is nowhere; then the heavier class is
    weighted down evenly to match first. The upper one is 100 / mean ‖x_i‖², weighted,
    where a single sample could move its own margin by 100: free of the data's scale.
    """
    problem = presolved.problem
    start = saturation_scale(problem.with_weights(problem.repair(problem.weights)))
    squares = 0.0
    if problem.weights.any():
        squares = float(np.average(problem.rows.norms() ** 2, weights=problem.weights))
    end = presolved.sample_weight(_LARGEST_PUSH / squares) if squares > 0 else 1.0
    if not 0 < start < np.inf:
        start = end / _LEAST_SPAN**2
    return start, max(end, _LEAST_SPAN * start)


def read_radii(statement: Statement, radii) -> np.ndarray:
    """Check factors on the radius stated, or radii where none is."""
    if radii is None:
        radii = statement.radius_or_default if statement.radius is None else 1.0
    more = " Radii that differ from sample to sample go to `radius`."
    return _listed(radii, "radii", more)


def _listed(given, name: str, more: str = "") -> np.ndarray:
    """Numbers ≥ 0, one or a list of them."""
    refuse_masked(given, name)
    values = np.atleast_1d(np.asarray(given))
    if values.ndim != 1 or not values.size:
        raise ValueError(
            f"{name} has shape {np.shape(given)}; it must be a list of numbers ≥ 0."
            + more
        )
    return np.array(check_per_sample(values, values.size, name))


def read_penalties(statement: Statement, norm_penalties) -> np.ndarray:
    """Check norm penalties; the one stated where there is no list."""
    if norm_penalties is None:
        return np.array([float(statement.norm_penalty)])
    return _listed(norm_penalties, "norm_penalties")


def read_ramps(statement: Statement, ramps) -> np.ndarray:
    """Check levels of the ramp, −∞ is the hinge; the one stated without a list."""
    if ramps is None:
        return np.array([statement.level])
    if np.ndim(ramps) != 1 or not len(ramps):
        raise ValueError(
            f"ramps={short(ramps)} must be a list of numbers ≤ 0 (None: the hinge)."
        )
    return np.array([check_ramp(each) for each in np.asarray(ramps).tolist()])


def read_levels(
    statement: Statement, radii=None, norm_penalties=None, ramps=None
) -> np.ndarray:
    """Levels of a grid, rows of radius, norm penalty and ramp, one of which varies."""
    levels = {
        "radii": read_radii(statement, radii),
        "norm_penalties": read_penalties(statement, norm_penalties),
        "ramps": read_ramps(statement, ramps),
    }
    several = [name for name, values in levels.items() if values.size > 1]
    if len(several) > 1:
        sizes = " and ".join(f"{levels[name].size} {name}" for name in several)
        raise ValueError(
            f"{sizes} are given; a path varies one of them beside C. Give one value of "
            "the others."
        )
    return np.column_stack(np.broadcast_arrays(*levels.values()))


def read_range(
    statement: Statement, Cs, radii=None, norm_penalties=None, ramps=None
) -> dict[str, tuple[float, float]]:
    """Ends of a complete path: one of C, radius and norm penalty has two."""
    given = {"Cs": Cs, "radii": radii, "norm_penalties": norm_penalties}
    ranges = [name for name, values in given.items() if isinstance(values, tuple)]
    if len(ranges) != 1:
        raise ValueError(
            f"complete goes along one range, and {len(ranges)} are given; one of Cs, "
            "radii and norm_penalties must be a tuple (low, high)."
        )
    if statement.level > -np.inf or ramps is not None:
        raise ValueError("ramps are not convex, and nothing is proven between points.")
    if np.ndim(Cs) == 0 and not isinstance(Cs, int | np.integer):
        Cs = [Cs]
    found = {
        "C": (Cs, read_Cs(Cs, []) if np.ndim(Cs) else np.zeros(2)),
        "radius": (radii, read_radii(statement, radii)),
        "norm_penalty": (norm_penalties, read_penalties(statement, norm_penalties)),
    }
    ends = {}
    for name, (values, numbers) in found.items():
        wanted = 2 if isinstance(values, tuple) else 1
        if numbers.size != wanted or not numbers[0] <= numbers[-1]:
            raise ValueError(
                f"{name} is given as {short(values)}; with complete one of C, radius "
                "and norm_penalty is a tuple (low, high), low < high, and the others "
                "are one value each, such as Cs=[1.0]."
            )
        if wanted == 2 and not numbers[0] < numbers[1]:
            raise ValueError(
                f"({numbers[0]:g}, {numbers[1]:g}) is no range: low < high."
            )
        ends[name] = float(numbers[0]), float(numbers[-1])
    return ends


def read_Cs(Cs, problems: list[Presolved]) -> np.ndarray:
    """Check values of C, or space as many over the ranges of the problems."""
    if isinstance(Cs, int | np.integer) and not isinstance(Cs, bool):
        if Cs < 1:
            raise ValueError(f"Cs={Cs!r} must be a whole number ≥ 1, or values of C.")
        ranges = np.array([C_range(problem) for problem in problems])
        return np.geomspace(ranges[:, 0].min(), ranges[:, 1].max(), int(Cs))
    refuse_masked(Cs, "Cs")
    values = np.asarray(Cs)
    if values.ndim != 1 or not values.size or values.dtype.kind not in "iuf":
        raise ValueError(
            f"Cs={Cs!r} must be a whole number ≥ 1, how many values, or a list of "
            "numbers > 0, the values."
        )
    return np.array(
        [check_number(value, "Cs", positive=True) for value in values.tolist()]
    )
