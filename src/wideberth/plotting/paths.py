"""Displays of a path and of a choice along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wideberth.plotting.display import BESIDE, Display

#: What a path may vary, and the array of a `Path` that holds its values.
_AXES = {
    "C": "Cs",
    "radius": "radii",
    "norm_penalty": "norm_penalties",
    "ramp": "ramps",
}
#: What the axes of a figure are called.
_CALLED = {name: name.replace("_", " ") for name in _AXES}


class _Line(NamedTuple):
    """The points of a path along one of its axes, ascending."""

    against: str
    values: np.ndarray
    where: tuple[np.ndarray, np.ndarray]
    title: str


def _line(path, against: str | None, k: int) -> _Line:
    """Points with the others held: C, or the level of number k.

    The hinge is no point of an axis of ramps, for it is at −∞.
    """
    if against is None:
        varied = [name for name in _AXES if _varies(path, name)]
        against = next(iter(varied), "C")
    if against not in _AXES:
        raise ValueError(f"against={against!r} is not known; choose one of {[*_AXES]}.")
    if against == "C":
        values, rows = path.Cs, np.full(len(path.Cs), k)
        columns = np.arange(len(path.Cs))
        title = f"radius {path.radii[k]:g}"
        if path.norm_penalties[k] > 0:
            title += f", norm penalty {path.norm_penalties[k]:g}"
        if np.isfinite(path.ramps[k]):
            title += f", ramp {path.ramps[k]:g}"
    else:
        values, rows = getattr(path, _AXES[against]), np.arange(len(path.radii))
        columns, title = np.full(len(rows), k), f"C {path.Cs[k]:g}"
    order = np.argsort(values, kind="stable")
    order = order[path.done[rows[order], columns[order]] & np.isfinite(values[order])]
    if not order.size:
        why = "has a ramp" if against == "ramp" else "was reached"
        raise ValueError(f"No point of {title} {why}; nothing to draw.")
    return _Line(against, values[order], (rows[order], columns[order]), title)


def _varies(path, name: str) -> bool:
    """Whether a path has several values of it; the ramp of the hinge is −∞."""
    return np.unique(getattr(path, _AXES[name])).size > 1


def _scale(ax, against: str, values: np.ndarray) -> None:
    """Make the axis of C or a penalty logarithmic, with 0 where it occurs."""
    positive = values[values > 0]
    if against in ("radius", "ramp") or not positive.size:
        scale = {"value": "linear"}
    elif positive.size == len(values):
        scale = {"value": "log"}
    else:
        scale = {"value": "symlog", "linthresh": positive.min()}
    ax.set_xscale(**scale)
    ax.set_xlabel(_CALLED[against])


def _names(path, feature_names) -> Sequence[str]:
    if feature_names is None:
        return [f"x{j}" for j in range(path.coefs.shape[2])]
    if len(feature_names) != path.coefs.shape[2]:
        raise ValueError(
            f"feature_names has {len(feature_names)} names; the path has "
            f"{path.coefs.shape[2]} features."
        )
    return feature_names


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay(Display):
    """Coefficients along a path, and below them fractions of the samples.

    Parameters
    ----------
    values : array of shape (n_points,), ascending
        Of what varies.
    coefs : array of shape (n_points, n_features)
    removed, saturated, undecided : arrays of shape (n_points,)
        Fractions of samples that the final certificates prove to have α = 0 and α = C,
        and the fraction that the previous solution left undecided.
    feature_names : sequence of str
    against : {"C", "radius", "norm_penalty", "ramp"}, default="C"
        What varies.
    title : str, default=""
        Text above the plot, such as what all points have in common.
    """

    values: np.ndarray
    coefs: np.ndarray
    removed: np.ndarray
    saturated: np.ndarray
    undecided: np.ndarray
    feature_names: Sequence[str]
    against: str = "C"
    title: str = ""

    _n_axes = 2

    @classmethod
    def from_path(cls, path, *, against=None, k=0, feature_names=None, ax=None):
        """Draw the points of a `Path` along one of its axes; see `Path.plot`."""
        line = _line(path, against, k)
        shares = {
            name: getattr(path, name)[line.where] / path.n_samples
            for name in ("removed", "saturated", "undecided")
        }
        return cls(
            values=line.values,
            coefs=path.coefs[line.where],
            feature_names=_names(path, feature_names),
            against=line.against,
            title=line.title,
            **shares,
        ).plot(ax=ax)

    def _draw(self, axes):
        above, below = axes
        named = np.argsort(-np.abs(self.coefs).max(axis=0))[:8]  # as many as stand out
        others = np.delete(self.coefs, named, axis=1)
        above.plot(self.values, others, color="0.8", lw=0.8)
        for j in named:
            above.plot(self.values, self.coefs[:, j], label=str(self.feature_names[j]))
        above.axhline(0, color="0.5", lw=0.5)
        above.set(ylabel="coefficient", title=self.title)
        decided = self.removed, self.saturated, 1 - self.removed - self.saturated
        style = {"labels": ["removed", "saturated", "undecided"], "linewidth": 0}
        below.stackplot(self.values, *decided, colors=["C0", "C1", "0.9"], **style)
        below.plot(self.values, self.undecided, "k.-", label="read by the solver")
        below.set(ylim=(0, 1.02), ylabel="share of samples")
        _scale(below, self.against, self.values)  # and that of both, which share it
        for ax in axes:
            ax.legend(frameon=False, **BESIDE)


@dataclass(kw_only=True, eq=False, repr=False)
class ChoiceDisplay(Display):
    """Cross-validated errors over C, and a proven lower bound of them.

    Parameters
    ----------
    choices : sequence of ProvenChoice
        One for each radius and norm penalty.
    """

    choices: tuple

    @classmethod
    def from_choice(cls, choice, *, ax=None):
        """Draw the `choice_` of `RobustLinearSVCCV(prove=...)`.

        Parameters
        ----------
        choice : ProvenChoice
        ax : matplotlib Axes, optional

        Returns
        -------
        ChoiceDisplay
        """
        return cls(choices=choice.levels or (choice,)).plot(ax=ax)

    def _draw(self, ax):
        for k, each in enumerate(self.choices):
            label = "found"
            if len(self.choices) > 1:
                label = f"radius {each.radius:g}, norm penalty {each.norm_penalty:g}"
            color = f"C{k}"
            ax.plot(each.Cs, each.errors, ".", color=color, ms=3, label=label)
            ax.stairs(each.bounds, each.edges, color=color, label="none below")
            ax.plot(each.C, each.error, "o", color=color, mfc="none")
            ax.axhline(each.error - each.within, color=color, ls=":", lw=1)
        ax.set(xscale="log", xlabel="C", ylabel="cross-validated error")
        ax.legend()
