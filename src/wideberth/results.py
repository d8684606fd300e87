"""What `solve` and `path` return: models with their proofs, and the warnings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from wideberth.problem.arrays import Array, host, namespace
from wideberth.problem.certificate import PROVABLE, Certificate
from wideberth.screening.ranges import RangeProof
from wideberth.solvers.base import Control
from wideberth.solvers.ramp import Ending

#: Masks of the samples at α* = 0 and at α* = c; None where they are not known.
Decisions = tuple[Array | None, Array | None]
#: How many samples are undecided, saturated and removed.
Counts = tuple[int, int, int]


@dataclass(frozen=True)
class RampDescent:
    """How a solution with the ramp loss was found, and which samples it leaves out.

    Attributes
    ----------
    ramp : float
        The margin a below which the loss of a sample is constant, c_i(1 − a).
    left_out : boolean array of shape (n,)
        Samples that the certified model leaves out, because their loss is at the cap.
        Their labels may be wrong; `RobustLinearSVC.suspects_` ranks them.
    objectives : tuple of float
        The objective with the ramp loss, at the start and after each convex problem. It
        never rises.
    start : str
        The starting point: "hinge", "class means", "trimmed", or "init".
    ending : str
        "repeats" if the solution leaves the same samples out again, so that another
        step would change nothing; "stalls" if a step gained less than ten times the
        tolerance; "cut short" if a limit or the callback ended it.
    """

    ramp: float
    left_out: Array = field(repr=False)
    objectives: tuple[float, ...]
    start: str
    ending: Ending

    def summary(self) -> dict:
        """What a fitted model keeps: the number left out, and how it came about."""
        return {
            "left_out": int(host(self.left_out).sum()),
            "objectives": list(self.objectives),
            "start": self.start,
            "ending": self.ending,
        }


@dataclass(frozen=True)
class Solution:
    """A trained model with its certificate.

    `primal` ≥ minimum of the objective ≥ `dual`. The difference is `gap`, computed in
    float64 on all samples.

    Attributes
    ----------
    w, b : array of shape (d,), float
        The model ⟨w,x⟩ + b. Its sign is the class; with loss="quantile" it is the
        prediction.
    dual_weights : array of shape (n,), or a function
        What `alpha` returns, or computes when it is first asked for.
    certificate : Certificate
        Primal and dual values with a bound on their rounding.
    converged : bool
        Whether the gap plus the bound on its rounding is at most `tol` times the
        objective. (With `tol` below 1e-9: whether the computed gap is within `tol`, and
        the gap plus rounding within 1e-9.)
    solver : str
        The solver that ran last.
    n_iter, passes, seconds : int, float, float
        Iterations, passes over the data (rows read ÷ n), time.
    decided : pair of boolean arrays of shape (n,), or a function
        What `removed` and `saturated` return, or compute when first asked for.
    trace : list of dict
        One entry for every point at which a gap was computed; between two proofs
        coordinate ascent estimates it. With a callback every entry is a proof, and
        "free", "saturated" and "removed" are numbers of samples: undecided, proven by
        these points to have α = c, to have α = 0 (equal samples count once). For data
        in chunks "free" is the size of the working set, and the others are guesses that
        the next pass checks.
    notes : tuple of Warning
        Warnings of the run.
    classes : array of shape (2,), or None
        The labels of y, sorted. A positive ⟨w,x⟩ + b means the second. None with
        loss="quantile".
    descent : RampDescent or None
        With the ramp loss, how the model was found. The certificate, `alpha`, `removed`
        and `saturated` are then those of the convex problem without the samples left
        out. `primal` and `dual` include the constant loss of these samples.

    Notes
    -----
    For data that is read in chunks `alpha`, `removed` and `saturated` are None if they
    do not fit in the memory allowed. If X is an array of another library, such as
    PyTorch, they are arrays of that library.
    """

    w: np.ndarray
    b: float
    dual_weights: Array | Callable[[], Array | None] | None = field(
        repr=False, compare=False
    )
    certificate: Certificate
    converged: bool
    solver: str
    n_iter: int
    passes: float
    seconds: float
    decided: Decisions | Callable[[], Decisions] = field(repr=False, compare=False)
    trace: list[dict] = field(repr=False, default_factory=list)
    notes: tuple[Warning, ...] = ()
    classes: np.ndarray | None = field(default_factory=lambda: np.array([-1, 1]))
    descent: RampDescent | None = None
    #: Computes the mask `removed_features`; None where it proves nothing.
    prover: Callable[[], np.ndarray] | None = field(
        repr=False, compare=False, default=None
    )

    @cached_property
    def alpha(self):
        """The dual point behind the certificate, an array of shape (n,).

        For arrays on a GPU it is computed when it is first asked for.
        """
        known = self.dual_weights
        return known() if callable(known) else known

    @cached_property
    def _decisions(self) -> tuple:
        return self.decided() if callable(self.decided) else self.decided

    @property
    def removed(self):
        """Samples that this certificate proves to have α_i = 0 at the optimum.

        A boolean array of shape (n,), computed when it is first asked for.
        """
        return self._decisions[0]

    @property
    def saturated(self):
        """Samples that this certificate proves to have α_i = c_i at the optimum."""
        return self._decisions[1]

    @cached_property
    def removed_features(self) -> np.ndarray | None:
        """Features that this certificate proves to have w_j = 0 at the optimum.

        A boolean array of shape (d,), computed when it is first asked for. It is all
        False if the noise sets no weight to 0 (see `Box`). It is None for data read in
        chunks, for correlated noise, and without screening.
        """
        return None if self.prover is None else self.prover()

    def __getstate__(self):
        known = {"dual_weights": self.alpha, "decided": self._decisions}
        known["removed_features"] = self.removed_features
        return vars(self) | known | {"prover": None}  # the data stays behind

    @property
    def primal(self) -> float:
        """Objective at (w, b)."""
        return self.certificate.primal

    @property
    def dual(self) -> float:
        """Lower bound on the optimum, from α."""
        return self.certificate.dual

    @property
    def gap(self) -> float:
        """Duality gap on the full problem."""
        return self.certificate.gap

    @property
    def relative_gap(self) -> float:
        """The gap divided by the objective."""
        return self.certificate.relative_gap

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of undecided, saturated and removed samples."""
        if self.removed is None:
            last = self.trace[-1]
            return last["free"], last["saturated"], last["removed"]
        count = namespace(self.removed).count_nonzero
        removed, saturated = int(count(self.removed)), int(count(self.saturated))
        return self.alpha.shape[0] - removed - saturated, saturated, removed

    def __repr__(self):
        free, saturated, removed = self.counts
        state = "converged" if self.converged else "NOT converged"
        return (
            f"Solution({state}: objective {self.primal:.6g}, relative gap "
            f"{self.relative_gap:.1e}, {self.solver}, {self.n_iter} iterations, "
            f"{self.passes:.1f} passes, {removed} removed and {saturated} saturated "
            f"of {free + saturated + removed} samples)"
        )


def certified_solution(
    control: Control,
    certificate: Certificate,
    remedy: Callable[[], str | None],
    null: Callable[[], Warning],
    *,
    w: np.ndarray,
    trace: list[dict] | None = None,
    **model,
) -> Solution:
    """The solution of a run, in the user's units, with what is to be said about it.

    Where the tolerance is not proven `remedy` says what helps, if anything special
    does; `null` is the warning of a proven w = 0. `trace` is that of the run by
    default; `model` are the other fields of a `Solution`.
    """
    seconds = time.perf_counter() - control.started
    converged, notes = bool(certificate.proves(control.tol)), tuple[Warning, ...]()
    if not converged:
        notes = (not_converged(control, certificate, seconds, remedy()),)
    elif not w.any():
        notes = (null(),)
    return Solution(
        w=w,
        certificate=certificate,
        converged=converged,
        n_iter=control.steps,
        seconds=seconds,
        trace=control.trace if trace is None else trace,
        notes=notes,
        **model,
    )


@dataclass(frozen=True)
class PathPoint:
    """One model of a path, with its certificate and its cost.

    `undecided` is the number of samples that the previous point did not decide.
    `removed` and `saturated` are the numbers that the final certificate proves to have
    α_i = 0 and α_i = c_i. `left_out` is the number that the ramp leaves out; `removed`
    includes these. `passes`, `seconds` and `n_iter` are those of this point alone.
    """

    C: float
    radius: float
    norm_penalty: float
    ramp: float
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
    left_out: int
    trace: list[dict] = field(repr=False)
    alpha: np.ndarray | None = field(repr=False, default=None)
    #: How many samples are undecided, saturated and removed, or what computes that.
    decided: Counts | Callable[[], Counts] = field(
        repr=False, compare=False, default=(0, 0, 0)
    )

    @cached_property
    def _counts(self) -> Counts:
        return self.decided() if callable(self.decided) else self.decided

    @property
    def saturated(self) -> int:
        """Samples proven to have α_i = c_i at the optimum."""
        return self._counts[1]

    @property
    def removed(self) -> int:
        """Samples proven to have α_i = 0 at the optimum."""
        return self._counts[2]

    def __getstate__(self):
        return vars(self) | {"decided": self._counts}  # the data stays behind


#: Arrays of a `Path`: the field of `PathPoint` in each, and its value without a point.
_ARRAYS: dict[str, tuple[str, float]] = {
    "intercepts": ("b", np.nan),
    "objectives": ("objective", np.nan),
    "gaps": ("gap", np.nan),
    "relative_gaps": ("relative_gap", np.nan),
    "passes": ("passes", np.nan),
    "seconds": ("seconds", np.nan),
    "n_iters": ("n_iter", 0),
    "undecided": ("undecided", 0),
    "left_out": ("left_out", 0),
    "null": ("null", False),
    "converged": ("converged", False),
    "removed": ("removed", 0),
    "saturated": ("saturated", 0),
}


class Path:
    """Models over a grid of levels and values of C, in the given order.

    The levels are radii, norm penalties or ramps. Arrays have the shape (n_levels,
    n_Cs); points that were not reached are NaN, 0 or False. Iterating gives the points
    that were reached, level by level; `path[k, j]` is the point of level k and the j-th
    C.

    Attributes
    ----------
    Cs : array of shape (n_Cs,)
    radii, norm_penalties, ramps : arrays of shape (n_levels,)
        A ramp of −∞ is the hinge.
    coefs : array of shape (n_levels, n_Cs, n_features)
    intercepts, objectives, gaps, relative_gaps, passes, seconds : float arrays
        Gaps are certified on all samples. Passes (rows read ÷ n_samples) and seconds
        are those of each single point.
    n_iters : int array
    undecided, removed, saturated : int arrays
        Samples that the previous solution left undecided (sequential screening), and
        samples that the final certificate proves to have α_i = 0 and α_i = c_i.
    left_out : int array
        Number of samples that the ramp leaves out.
    null, converged, done : bool arrays
        Whether the model is w = 0; whether `tol` is proven; whether the point was
        reached.
    traces : list of list of list of dict
        The points of every solve, as in `Solution.trace`.
    alphas : array of shape (n_levels, n_Cs, n_samples) or None
    n_samples : int
    classes : array of shape (2,), or None
        The labels of y, sorted. A positive decision value means the second. None with
        loss="quantile".
    solver : str
    notes : tuple of Warning
    tolerance : float or None
        The relative gap that a complete path proves at every value of its range.
    """

    def __init__(
        self,
        Cs,
        levels,
        points: dict[tuple[int, int], PathPoint],
        n_samples: int,
        n_features: int,
        solver: str,
        alphas=False,
        classes=(-1, 1),
    ):
        self.Cs = Cs
        self.radii, self.norm_penalties, self.ramps = np.asarray(levels).T
        self.classes = None if classes is None else np.asarray(classes)
        self.n_samples, self.solver, self._points = n_samples, solver, points
        self.notes: tuple[Warning, ...] = ()
        # Along what the path is complete, and what is proven between two values of it.
        self.axis = "C"
        self.tolerance: float | None = None
        self.proofs: dict[tuple[float, float], RangeProof] = {}
        self.done = ~np.isnan(self._gathered("C", np.nan))
        self.coefs = self._gathered("w", np.nan, n_features)
        self.alphas = self._gathered("alpha", np.nan, n_samples) if alphas else None
        self.traces: list[list[list[dict]]] = [[[] for _ in Cs] for _ in levels]
        for (k, j), point in points.items():
            self.traces[k][j] = point.trace

    def _gathered(self, name: str, nothing, *shape: int) -> np.ndarray:
        """A number, or an array of this shape, of every point."""
        values = np.full((len(self.radii), len(self.Cs), *shape), nothing)
        for where, point in self._points.items():
            values[where] = getattr(point, name)
        return values

    def __getattr__(self, name: str) -> np.ndarray:
        """Arrays of numbers of the points, gathered when first asked for."""
        if name not in _ARRAYS:
            raise AttributeError(f"A Path has no attribute {name!r}.")
        values = vars(self)[name] = self._gathered(*_ARRAYS[name])
        return values

    def __dir__(self):
        return [*super().__dir__(), *_ARRAYS]

    @property
    def complete(self) -> bool:
        """Whether every point was reached."""
        return bool(self.done.all())

    def __len__(self):
        return len(self._points)

    def __iter__(self) -> Iterator[PathPoint]:
        return (self._points[where] for where in sorted(self._points))

    def __getitem__(self, where) -> PathPoint:
        k, j = range(len(self.radii))[where[0]], range(len(self.Cs))[where[1]]
        if (k, j) not in self._points:
            raise KeyError(
                f"C={self.Cs[j]:g} at radius {self.radii[k]:g}, norm penalty "
                f"{self.norm_penalties[k]:g} and ramp {self.ramps[k]:g} was not "
                "reached: the path was stopped before. `done` tells which points "
                "there are."
            )
        return self._points[k, j]

    def at(self, value: float) -> PathPoint:
        """Return the model at any value in the range of a complete path.

        It is interpolated between two points of the path, whose certificates prove its
        gap. Nothing is solved.

        Parameters
        ----------
        value : float
            C, radius or norm penalty, whichever is the range of the path.

        Returns
        -------
        PathPoint
            `objective` is an upper bound of the objective, `gap` its proven distance
            from the minimum.
        """
        if self.tolerance is None:
            raise ValueError(
                "at needs a complete path, path(..., Cs=(low, high), complete=1e-3); "
                "the points of a grid are path[k, j]."
            )
        value = float(value)
        for (first, last), proof in self.proofs.items():
            if first <= value <= last:
                return self._between(first, last, value, proof)
        ends = [end for span in self.proofs for end in span]
        reach = f"from {min(ends):g} to {max(ends):g}" if ends else "for no value"
        raise ValueError(f"{self.axis}={value:g} is out of reach: models are {reach}.")

    def _between(
        self, first: float, last: float, value: float, proof: RangeProof
    ) -> PathPoint:
        places = self.Cs if self.axis == "C" else self._levels[self.axis]
        found = [int(np.flatnonzero(places == end)[0]) for end in (first, last)]
        a, b = (self[(0, k) if self.axis == "C" else (k, 0)] for k in found)
        if value in (first, last):
            return a if value == first else b
        t = (value - first) / (last - first)
        certificate, w = proof.at(t), (1 - t) * a.w + t * b.w
        alpha = None
        if a.alpha is not None and b.alpha is not None:
            alpha = (1 - t) * a.alpha + t * b.alpha
        at: dict[str, Any] = {self.axis: value}
        return replace(
            a,
            **at,
            w=w,
            b=(1 - t) * a.b + t * b.b,
            objective=certificate.primal,
            gap=certificate.gap,
            relative_gap=certificate.relative_gap,
            converged=certificate.proves(self.tolerance or 0.0),
            null=not w.any(),
            n_iter=0,
            passes=0.0,
            seconds=0.0,
            undecided=self.n_samples,
            trace=[],
            alpha=alpha,
            decided=(self.n_samples, 0, 0),
        )

    @property
    def _levels(self) -> dict[str, np.ndarray]:
        return {"radius": self.radii, "norm_penalty": self.norm_penalties}

    def __repr__(self):
        def ends(values):
            return f"{values.min():.3g} to {values.max():.3g}"

        levels, called = self.radii, "radii"
        if np.ptp(self.norm_penalties) > 0:
            levels, called = self.norm_penalties, "norm penalties"
        if np.unique(self.ramps).size > 1:
            levels, called = self.ramps, "ramps"
        spread = [len(values) for values in (levels, self.Cs)]
        worst = self.relative_gaps[self.done].max(initial=0.0)
        return (
            f"Path({len(self)} of {self.done.size} points: {spread[1]} Cs from "
            f"{ends(self.Cs)}, {spread[0]} {called} from {ends(levels)}; relative "
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
        kept = [
            "C",
            "radius",
            "norm_penalty",
            "ramp",
            *(number for number, _ in _ARRAYS.values()),
        ]
        points = [[getattr(point, name) for name in kept] for point in self]
        return pandas.DataFrame(points, columns=kept)

    def plot(self, *, against=None, k=0, feature_names=None, ax=None):
        """Draw coefficients and fractions of samples along the path.

        Parameters
        ----------
        against : {"C", "radius", "norm_penalty", "ramp"}, optional
            The horizontal axis; by default C if there are several, otherwise the level.
            The hinge (ramp −∞) is not drawn.
        k : int, default=0
            Index of the level if C is the axis, or of C if levels are the axis.
        feature_names : sequence of str, optional
            Names for the legend, which shows the eight largest coefficients.
        ax : pair of matplotlib Axes, optional

        Returns
        -------
        wideberth.plotting.PathDisplay
        """
        from wideberth.plotting import PathDisplay

        given = {"k": k, "feature_names": feature_names, "ax": ax}
        return PathDisplay.from_path(self, against=against, **given)


# -- warnings --------------------------------------------------------------------------


class NullModelWarning(UserWarning):
    """The noise is so large that the best robust model is constant."""


def convergence_warning(text: str) -> Warning:
    """scikit-learn's ConvergenceWarning, imported when it is needed."""
    from sklearn.exceptions import ConvergenceWarning

    return ConvergenceWarning(text)


def not_proven(left, gaps, tol: float, of: str, remedy: str) -> list[Warning]:
    """One warning about all models of the mask `left`, whose `tol` is not proven."""
    if not left.any():
        return []
    said = (
        f"Not converged: tol={tol:.2e} is not proven for {left.sum()} of {of}, with "
        f"relative gaps up to {gaps[left].max():.2e}, without rounding; {remedy}."
    )
    return [convergence_warning(said)]


_STALLED = "the solver made no further progress"

#: What to do about a run that was cut short, by its status.
_REMEDIES = {
    "out of steps": "raise max_iter={0.max_iter}",
    "out of time": "raise max_seconds",
    "stopped": "the callback asked to stop",
    "out of precision": "raise tol, lower C, or scale the features of X",
}


def not_converged(
    control: Control, certificate, seconds: float, remedy: str | None = None
) -> Warning:
    """The warning that the tolerance was not met, and what to do about it."""
    status = control.status(certificate)
    words = remedy or _REMEDIES[status].format(control)
    if status == "out of precision":
        blamed = who_is_to_blame(certificate, control.tol)
        if remedy is None and blamed == _STALLED and control.solver != "conic":
            words = "raise tol, or give solver='conic'"
        words = f"{blamed}: {words}"
    return convergence_warning(
        f"Not converged: {shortfall(certificate, control.tol)} after {control.steps} "
        f"iterations and {seconds:.2f} s; {words}."
    )


def shortfall(certificate: Certificate, tol: float) -> str:
    """What a certificate that does not prove `tol` lacks, in words."""
    gap = f"relative gap {certificate.relative_gap:.2e}"
    if not certificate.gap <= tol * certificate.scale:
        return f"{gap} > tol={tol:.2e}"
    doubt = certificate.rounding / (certificate.scale or 1.0)
    gap += f" plus rounding of up to {doubt:.2e} > "
    if tol < PROVABLE:
        return f"{gap}{PROVABLE:.0e}, the least that is proven for tol={tol:.2e}"
    return f"{gap}tol={tol:.2e}"


def who_is_to_blame(certificate: Certificate, tol: float) -> str:
    """Rounding, if its bound alone exceeds what must be proven; else the solver."""
    if not certificate.rounding <= max(tol, PROVABLE) * certificate.scale:
        return "rounding errors are larger than tol"
    return _STALLED


def null_model(
    size: str, noisy: bool = True, penalised: bool = False, ramp: bool = False
) -> Warning:
    """The warning that w = 0 is best; `size` says what the critical radius is.

    With a `ramp` it is best without the samples that this leaves out.
    """
    best = "The best robust model is w = 0, a constant prediction: "
    if ramp:
        text = (
            "The model is w = 0, a constant prediction: the ramp leaves out samples "
            "that contradict it. Raise C, lower ramp (−1 is usual) or radius, or give "
            f"starts=3; the critical radius of the samples kept is {size}."
        )
    elif penalised:
        text = best + (
            "norm_penalty and noise outweigh what the features say about y. With this "
            f"penalty the critical radius (one for all samples) is {size}; choose a "
            "smaller norm_penalty or radius."
        )
    elif noisy:
        text = best + (
            "the noise hides what the features say about y. The critical radius (one "
            f"for all samples) is {size}; choose a smaller radius."
        )
    else:
        text = (
            "The best model is w = 0, a constant prediction: X says nothing about y. "
            "Its rows are zero, or have no weight, or cancel out; or y is constant."
        )
    return NullModelWarning(text)
