"""`path`: the robust SVM along C and radius, every point with its certificate.

The work is done by `sequence.py`; here are the arguments, and `Path`, the answer.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wideberth.problem.diagnosis import out_of_range
from wideberth.problem.presolve import Presolved, build_problem, check_radii
from wideberth.solution import convergence_warning
from wideberth.solve import NullModelWarning
from wideberth.solvers.base import make_control
from wideberth.solvers.grids import read_Cs, read_radii
from wideberth.solvers.registry import check_choices, choose_solver
from wideberth.solvers.sequence import Found, Sequence

__all__ = ["Path", "PathPoint", "path"]


@dataclass(frozen=True)
class PathPoint:
    """One model of a path, with its proof and its cost.

    `undecided` samples were left to the solver by what the point before proves;
    `removed` and `saturated` are how many the final certificate proves to have α_i = 0
    and α_i = c_i. `passes`, `seconds` and `n_iter` are those of this point alone.
    """

    C: float
    radius: float
    w: np.ndarray = field(repr=False)
    b: float
    objective: float
    gap: float
    relative_gap: float
    converged: bool
    null: bool
    n_iter: int
    passes: float
    seconds: float
    undecided: int
    removed: int
    saturated: int
    trace: list[dict] = field(repr=False)
    alpha: np.ndarray | None = field(repr=False, default=None)


#: Arrays of a path, the number of each point that they hold, and what stands for none.
_ARRAYS: dict[str, tuple[str, Any]] = {
    "intercepts": ("b", np.nan),
    "objectives": ("objective", np.nan),
    "gaps": ("gap", np.nan),
    "relative_gaps": ("relative_gap", np.nan),
    "passes": ("passes", np.nan),
    "seconds": ("seconds", np.nan),
    "n_iters": ("n_iter", 0),
    "undecided": ("undecided", 0),
    "removed": ("removed", 0),
    "saturated": ("saturated", 0),
    "null": ("null", False),
    "converged": ("converged", False),
}


class Path:
    """Models over a grid of radii and Cs, in the order in which they were asked for.

    Arrays have the shape (n_radii, n_Cs); where a point was not reached they hold NaN,
    0 or False. Iterating gives the points reached, radius by radius; `path[k, j]` is
    that of radius k and C j.

    Attributes
    ----------
    Cs : array of shape (n_Cs,)
    radii : array of shape (n_radii,)
    coefs : array of shape (n_radii, n_Cs, n_features)
    intercepts, objectives, gaps, relative_gaps, passes, seconds : float arrays
        Gaps are certified on all samples. Passes are reads of the data in
        equivalents of whole ones; they and the seconds are of each point alone.
    n_iters : int array
    undecided, removed, saturated : int arrays
        Samples left to the solver by the solution before (sequential screening), and
        those that the final certificate proves to have α_i = 0 and α_i = c_i.
    null, converged, done : bool arrays
        Whether the model is w = 0, is within `tol` as `solve` defines it, was reached.
    traces : list of list of list of dict
        The certified points of every solve, as in `Solution.trace`.
    alphas : array of shape (n_radii, n_Cs, n_samples) or None
    n_samples : int
    classes : array of shape (2,)
        The labels of y, sorted; positive decision values speak for the second.
    solver : str
    notes : tuple of Warning
    """

    intercepts: np.ndarray
    objectives: np.ndarray
    gaps: np.ndarray
    relative_gaps: np.ndarray
    passes: np.ndarray
    seconds: np.ndarray
    n_iters: np.ndarray
    undecided: np.ndarray
    removed: np.ndarray
    saturated: np.ndarray
    null: np.ndarray
    converged: np.ndarray

    def __init__(
        self,
        Cs,
        radii,
        n_samples: int,
        n_features: int,
        solver: str,
        alphas=False,
        classes=(-1, 1),
    ):
        self.Cs, self.radii, self.classes = Cs, radii, np.asarray(classes)
        self.n_samples, self.solver = n_samples, solver
        self.notes: tuple[Warning, ...] = ()
        grid = len(radii), len(Cs)
        self.done = np.zeros(grid, dtype=bool)
        self.coefs = np.full((*grid, n_features), np.nan)
        self.alphas = np.full((*grid, n_samples), np.nan) if alphas else None
        self.traces: list[list[list[dict]]] = [[[] for _ in Cs] for _ in radii]
        for name, (_, nothing) in _ARRAYS.items():
            setattr(self, name, np.full(grid, nothing))

    def _store(self, k: int, j: int, point: PathPoint) -> None:
        self.coefs[k, j], self.done[k, j] = point.w, True
        self.traces[k][j] = point.trace
        if self.alphas is not None:
            self.alphas[k, j] = point.alpha
        for name, (number, _) in _ARRAYS.items():
            getattr(self, name)[k, j] = getattr(point, number)

    @property
    def complete(self) -> bool:
        """Whether every point was reached."""
        return bool(self.done.all())

    def __len__(self):
        return int(self.done.sum())

    def __iter__(self) -> Iterator[PathPoint]:
        return (self[k, j] for k, j in np.argwhere(self.done))

    def __getitem__(self, where) -> PathPoint:
        k, j = where
        if not self.done[k, j]:
            raise KeyError(
                f"C={self.Cs[j]:g} at radius {self.radii[k]:g} was not reached: the "
                "path was stopped before. `done` tells which points there are."
            )
        numbers = {
            number: getattr(self, name)[k, j].item()
            for name, (number, _) in _ARRAYS.items()
        }
        return PathPoint(
            C=float(self.Cs[j]),
            radius=float(self.radii[k]),
            w=self.coefs[k, j],
            trace=self.traces[k][j],
            alpha=None if self.alphas is None else self.alphas[k, j],
            **numbers,
        )

    def __repr__(self):
        def ends(values):
            return f"{values.min():.3g} to {values.max():.3g}"

        spread = [len(values) for values in (self.radii, self.Cs)]
        worst = self.relative_gaps[self.done].max(initial=0.0)
        return (
            f"Path({len(self)} of {self.done.size} points: {spread[1]} Cs from "
            f"{ends(self.Cs)}, {spread[0]} radii from {ends(self.radii)}; relative "
            f"gaps ≤ {worst:.1e}, {self.null.sum()} null models, {self.solver}, "
            f"{np.nansum(self.passes):.1f} passes)"
        )

    def to_frame(self):
        """Return the points as a pandas DataFrame, one row each, without the arrays."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "Path.to_frame needs pandas: pip install pandas."
            ) from error
        points = [vars(point) for point in self]
        kept = ["C", "radius", *(number for number, _ in _ARRAYS.values())]
        return pandas.DataFrame(points, columns=kept)

    def plot(self, *, k=0, feature_names=None, ax=None):
        """Draw coefficients, and the share of samples read, over C.

        Parameters
        ----------
        k : int, default=0
            Number of the radius.
        feature_names : sequence of str, optional
            Names for the legend, which shows the eight largest coefficients.
        ax : pair of matplotlib Axes, optional

        Returns
        -------
        wideberth.plotting.PathDisplay
        """
        from wideberth.plotting import PathDisplay

        return PathDisplay.from_path(self, k=k, feature_names=feature_names, ax=ax)


def path(
    X,
    y,
    *,
    Cs=30,
    radii=None,
    radius=None,
    noise="l2",
    fit_intercept=True,
    intercept_penalty=0.0,
    sample_weight=None,
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
    """Train robust SVMs along C and radius, each to a certified accuracy.

    Every point starts from its neighbours: what the solution before proves about the
    samples (sequential screening), and a prediction of where the next one is.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        In memory; arrays of other libraries are copied there.
    y : array of shape (n,)
        Labels of two classes, as in `solve`.
    Cs : int or array
        How many values of C, or the values, in any order. A number is spaced evenly in
        log C, from where every sample is saturated at the smallest radius, α_i = C, to
        100 / mean ‖x_i‖². With a free intercept and classes of different weight, where
        not all can be saturated, the heavier class is weighted down evenly for this.
    radii : array, default=(0.0,)
        Radii of the noise, in any order; factors on `radius` where that is given, and
        then 1 alone by default.
    radius : array of shape (n,), optional
        Sizes of the samples' uncertainty relative to each other: sample i has
        ρ_i = radii[k] · radius[i].
    noise, fit_intercept, intercept_penalty, sample_weight, solver, screening
        As in `solve`. "linf" and "l1" noise go to the conic solver, which gains from
        sequential screening alone.
    tol : float
        As in `solve`, for every point.
    max_iter : int
        Most iterations of one point.
    max_seconds : float, optional
        Stop after about this long, all points together.
    callback : callable, optional
        Called with a dict at every certified point, which also holds "C" and "radius";
        return True to stop.
    random_state : int or Generator, optional
        As in `solve`.
    keep_alphas : bool
        Keep the dual weights of every point in `Path.alphas`.
    quiet : bool
        Leave warnings in `Path.notes` instead of issuing them.

    Returns
    -------
    Path
        With the points that were reached before `max_seconds`, before the callback
        asked to stop, or before an interrupt from the keyboard.

    Warns
    -----
    ConvergenceWarning
        Once, if `tol` was not proven of some points, or some were not reached.
    NullModelWarning
        Once, if the noise leaves no better model than w = 0 at some points.

    Examples
    --------
    >>> from wideberth import path
    >>> from wideberth.datasets import load_breast_cancer, paper_preprocess
    >>> X, y = load_breast_cancer()
    >>> models = path(paper_preprocess("breast_cancer", X), y, Cs=5, radii=[0, 0.1])
    >>> models.coefs.shape, bool(models.relative_gaps.max() <= 1e-6)
    ((2, 5, 30), True)
    """
    found, sequence, units = prepare_path(
        X,
        y,
        Cs=Cs,
        radii=radii,
        radius=radius,
        solver=solver,
        screening=screening,
        limits=(tol, max_iter, max_seconds, callback),
        random_state=random_state,
        keep_alphas=keep_alphas,
        noise=noise,
        fit_intercept=fit_intercept,
        intercept_penalty=intercept_penalty,
        sample_weight=sample_weight,
    )
    reason = ""
    try:
        follow(found, sequence, units)
        if not found.complete:
            reason = "stopped by max_seconds or the callback"
    except KeyboardInterrupt:
        reason = "interrupted"
    remedy = ""
    if not found.converged[found.done].all():
        remedy = _out_of_range(found, sequence, units)
    found.notes = tuple(_notes(found, reason, tol, remedy))
    for note in () if quiet else found.notes:
        warnings.warn(note, stacklevel=2)
    return found


def prepare_path(
    X,
    y,
    *,
    Cs,
    radii,
    radius,
    solver,
    screening,
    limits,
    random_state=None,
    keep_alphas=False,
    proofs=True,
    **options,
) -> tuple[Path, Sequence, Presolved]:
    """Check arguments; an empty path, what fills it, and the units it is stated in."""
    started = time.perf_counter()
    check_choices(solver, screening)
    factors, unit = read_radii(radii, radius), 1.0 if radius is None else radius
    factor = None if np.ndim(Cs) == 0 else float(np.max(read_Cs(Cs, [])))
    units = build_problem(X, y, C=1.0, radius=unit, factor=factor, **options)
    check_radii(units, factors.max())
    problem = units.problem
    with np.errstate(all="ignore"):
        least = problem.with_radii(factors.min() * problem.radii)
        values = read_Cs(Cs, [replace(units, problem=least)])
    tol, max_iter, max_seconds, callback = limits
    entries, told = problem.n * problem.rows.d, units.callback(callback)
    control = make_control(entries, tol, max_iter, max_seconds, told, started)
    control.screening, control.rng = screening, np.random.default_rng(random_state)
    solver = choose_solver(problem, solver, along_path=True)
    shape = problem.n, problem.rows.d
    found = Path(values, factors, *shape, solver.name, keep_alphas, problem.classes)
    sequence = Sequence(problem, control, solver, proofs)
    return found, sequence, units


def follow(found: Path, sequence: Sequence, units: Presolved) -> None:
    """Solve every point once, in ascending order, and store it wherever it is asked."""
    Cs, which_C = np.unique(found.Cs, return_inverse=True)
    radii, which_radius = np.unique(found.radii, return_inverse=True)
    with np.errstate(all="ignore"):
        for k, j, result in sequence.points(Cs, radii):
            point = _point(float(Cs[j]), float(radii[k]), result, units)
            for row in np.flatnonzero(which_radius == k).tolist():
                for column in np.flatnonzero(which_C == j).tolist():
                    found._store(row, column, point)


def _point(C: float, radius: float, found: Found, units: Presolved) -> PathPoint:
    outcome, control = found.outcome, found.control
    point, certificate = outcome.point, units.certificate(outcome.certificate)
    converged, n = outcome.status == "solved", point.margins.size
    _, saturated, removed = (n, 0, 0) if found.proven is None else found.proven.counts
    return PathPoint(
        C=C,
        radius=radius,
        w=units.weights(point.w),
        b=point.b,
        objective=certificate.primal,
        gap=certificate.gap,
        relative_gap=certificate.relative_gap,
        converged=converged,
        null=converged and not point.w.any(),
        n_iter=control.steps,
        passes=found.passes,
        seconds=found.seconds,
        undecided=n if found.decided is None else found.decided.counts[0],
        removed=removed,
        saturated=saturated,
        trace=[units.entry(entry) for entry in control.trace],
        alpha=units.value(outcome.dual.alpha),
    )


def _out_of_range(found: Path, sequence: Sequence, units: Presolved) -> str:
    """Which quantity is to blame at the far end of the grid."""
    problem = sequence.problem
    with np.errstate(all="ignore"):
        problem = problem.with_radii(found.radii.max() * problem.radii)
        problem = problem.with_weights(found.Cs.max() * problem.weights)
        return out_of_range(problem, units)


def _notes(found: Path, reason: str, tol: float, remedy: str) -> list[Warning]:
    notes: list[Warning] = []
    if reason:
        notes.append(
            convergence_warning(
                f"The path was {reason}: {len(found)} of {found.done.size} points "
                "were reached; `done` tells which."
            )
        )
    open_ones = found.done & ~found.converged
    if open_ones.any():
        worst = found.relative_gaps[open_ones].max()
        notes.append(
            convergence_warning(
                f"Not converged: tol={tol:.2e} is not proven of {open_ones.sum()} of "
                f"{len(found)} points, relative gaps up to {worst:.2e} without their "
                "rounding; `converged` tells which. Raise max_iter; if that does not "
                f"help, {remedy}."
            )
        )
    if found.null.any():
        least = found.radii[found.null.any(axis=1)].min()
        why = "the noise covers what separates the classes"
        if least == 0 or not found.objectives[found.null].any():
            why = "X says nothing about y, or one class has no weight"
        notes.append(
            NullModelWarning(
                f"The best robust model is w = 0, a constant classifier, at "
                f"{found.null.sum()} of {len(found)} points, from radius "
                f"{least:g} on: {why}. `null` tells which."
            )
        )
    return notes
