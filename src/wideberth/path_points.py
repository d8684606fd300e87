"""What `path` returns: models over a grid, with proofs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np


@dataclass(frozen=True)
class PathPoint:
    """One model of a path, with its proof and its cost.

    `undecided` samples were left to the solver by what the point before proves;
    `removed` and `saturated` are how many the final certificate proves to have α_i = 0
    and α_i = c_i, computed when first asked for; `left_out` how many the ramp leaves
    out, of which `removed` counts all. `passes`, `seconds` and `n_iter` are those of
    this point alone.
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
    decided: Any = field(repr=False, compare=False, default=(0, 0, 0))

    @cached_property
    def _counts(self) -> tuple[int, int, int]:
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


#: Arrays of a path, the number of each point that they hold, and what stands for none;
#: the last two are gathered when first asked for.
_ARRAYS: dict[str, tuple[str, Any]] = {
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
    """Models over a grid of levels and Cs, in the order in which they were asked for.

    A level is a radius, a norm penalty or a ramp, whichever varies. Arrays have the
    shape (n_levels, n_Cs); where a point was not reached they hold NaN, 0 or False.
    Iterating gives the points reached, level by level; `path[k, j]` is that of level k
    and C j.

    Attributes
    ----------
    Cs : array of shape (n_Cs,)
    radii, norm_penalties, ramps : arrays of shape (n_levels,)
        A ramp of −∞ is the hinge.
    coefs : array of shape (n_levels, n_Cs, n_features)
    intercepts, objectives, gaps, relative_gaps, passes, seconds : float arrays
        Gaps are certified on all samples. Passes are reads of the data in
        equivalents of whole ones; they and the seconds are of each point alone.
    n_iters : int array
    undecided, removed, saturated : int arrays
        Samples left to the solver by the solution before (sequential screening), and
        those that the final certificate proves to have α_i = 0 and α_i = c_i.
    left_out : int array
        Samples that the ramp leaves out.
    null, converged, done : bool arrays
        Whether the model is w = 0, is within `tol` as `solve` defines it, was reached.
    traces : list of list of list of dict
        The points of every solve, as in `Solution.trace`.
    alphas : array of shape (n_levels, n_Cs, n_samples) or None
    n_samples : int
    classes : array of shape (2,)
        The labels of y, sorted; positive decision values speak for the second.
    solver : str
    notes : tuple of Warning
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
        self.classes = np.asarray(classes)
        self.n_samples, self.solver, self._points = n_samples, solver, points
        self.notes: tuple[Warning, ...] = ()
        self.done = ~np.isnan(self._gathered("C", np.nan))
        self.coefs = self._gathered("w", np.nan, n_features)
        self.alphas = self._gathered("alpha", np.nan, n_samples) if alphas else None
        self.traces: list[list[list[dict]]] = [[[] for _ in Cs] for _ in levels]
        for (k, j), point in points.items():
            self.traces[k][j] = point.trace
        for name, (number, nothing) in list(_ARRAYS.items())[:-2]:
            setattr(self, name, self._gathered(number, nothing))

    def _gathered(self, name: str, nothing, *shape: int) -> np.ndarray:
        """A number, or an array of this shape, of every point."""
        values = np.full((len(self.radii), len(self.Cs), *shape), nothing)
        for where, point in self._points.items():
            values[where] = getattr(point, name)
        return values

    @cached_property
    def removed(self) -> np.ndarray:
        """Samples that final certificates prove to have α_i = 0."""
        return self._gathered(*_ARRAYS["removed"])

    @cached_property
    def saturated(self) -> np.ndarray:
        """Samples that final certificates prove to have α_i = c_i."""
        return self._gathered(*_ARRAYS["saturated"])

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> np.ndarray: ...

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
        """Draw coefficients, and the share of samples read, along the path.

        Parameters
        ----------
        against : {"C", "radius", "norm_penalty", "ramp"}, optional
            What varies along the drawing; by default C where there are several, and
            otherwise what does. Against the ramp the hinge, at −∞, is not drawn.
        k : int, default=0
            Number of the level that is drawn against C, or of the C that is drawn
            against levels.
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
