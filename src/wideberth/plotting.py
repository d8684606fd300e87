"""Displays of fitted models (extra `plots`), in the manner of scikit-learn's.

`ScreeningDisplay`: what a fit could rule out, step by step.
`CertifiedAccuracyDisplay`: accuracy under the worst noise, as the noise grows.
`ReliabilityDisplay`: how often a class came true beside what was promised.
`MarginDisplay`: a model in two dimensions, with the uncertainty of every sample.
`PathDisplay`: coefficients along a path, and what screening left to the solver.

Each has `from_estimator(...)` (`from_path(...)`), which computes and draws, and
`plot(ax=...)`, which draws again; `ax_` and `figure_` hold what was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wideberth.problem.noise import as_shape

_BESIDE = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "fontsize": "small"}
_ABOVE = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 4}


class _Display:
    """What the displays share: axes to draw on, one below the other."""

    _n_axes = 1

    def plot(self, *, ax=None):
        """Draw on `ax`, or on new axes (an array of them where there are more)."""
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError(
                    "The displays need matplotlib: pip install 'wideberth[plots]'."
                ) from error
            _, ax = pyplot.subplots(self._n_axes, sharex=True, layout="constrained")
        self.ax_ = ax if self._n_axes == 1 else np.asarray(ax)
        self.figure_ = np.ravel(self.ax_)[0].figure
        self._draw(self.ax_)
        return self

    def _draw(self, ax) -> None:
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class ScreeningDisplay(_Display):
    """Shares of samples removed, saturated and undecided, and the gap, over a fit.

    Parameters
    ----------
    iterations, removed, saturated, gap : arrays of the same length
        One entry per certified point; shares between 0 and 1, gap relative.
    title : str, default=""
    """

    iterations: np.ndarray
    removed: np.ndarray
    saturated: np.ndarray
    gap: np.ndarray
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator, *, label=None, ax=None):
        """Draw the trace of a fitted `RobustLinearSVC`.

        Parameters
        ----------
        estimator : fitted RobustLinearSVC, or pipeline that ends in one
        label : class label, optional
            Which binary problem; by default the first (the only one of two classes).
        ax : matplotlib Axes, optional

        Returns
        -------
        ScreeningDisplay
        """
        model = _last_step(estimator)
        known, k, title = model.classes_.tolist(), 0, ""
        if len(model.screening_) > 1:
            if label is not None and label not in known:
                raise ValueError(f"label={label!r} is not one of the classes {known}.")
            k = 0 if label is None else known.index(label)
            title = f"{model.classes_[k]} against the rest"
        report = model.screening_[k]
        trace = report["trace"]
        if not trace:
            raise ValueError(
                "The fit has no trace: its solution was known at the start (a warm "
                "start, or noise beyond the critical radius). Nothing to draw."
            )
        n = trace[0]["free"] + trace[0]["saturated"] + trace[0]["removed"]

        def shares(name):
            # The trace tells what each point started from; its verdict comes after.
            return np.array([e[name] / n for e in trace[1:]] + [report[name]])

        return cls(
            iterations=np.array([e["iteration"] for e in trace]),
            removed=shares("removed"),
            saturated=shares("saturated"),
            gap=np.array([e["gap"] / e["primal"] for e in trace]),
            title=title,
        ).plot(ax=ax)

    def _draw(self, ax):
        edges = np.array([0, *self.iterations, 1.1 * self.iterations[-1] + 1])
        shares = np.column_stack([self.removed, self.saturated])
        shares = np.vstack([[0, 0], shares, shares[-1]])
        _draw_shares(ax, edges, *shares.T, step="post")
        ax.set(xlabel="iteration", ylim=(0, 1), xlim=(edges[0], edges[-1]))
        ax.set_title(self.title, pad=26)
        ax.xaxis.get_major_locator().set_params(integer=True)
        gap_ax = ax.twinx()
        positive = np.maximum(self.gap, np.finfo(float).eps)
        gap_ax.semilogy(self.iterations, positive, "k.-", label="relative gap")
        gap_ax.set_ylabel("relative gap")
        handles = [*ax.get_legend_handles_labels()[0], *gap_ax.lines]
        gap_ax.legend(handles=handles, frameon=False, columnspacing=1.0, **_ABOVE)


@dataclass(kw_only=True, eq=False, repr=False)
class CertifiedAccuracyDisplay(_Display):
    """Accuracy under the worst perturbation, as a function of its radius.

    Parameters
    ----------
    radii : array of shape (n_radii,)
    accuracy : array of shape (n_radii,)
    trained_radius : float, optional
        Marked by a vertical line.
    name : str, optional
        For the legend.
    """

    radii: np.ndarray
    accuracy: np.ndarray
    trained_radius: float | None = None
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, radii=None, name=None, ax=None, X_err=None
    ):
        """Evaluate `robust_score` over radii and draw it.

        Parameters
        ----------
        estimator : fitted RobustLinearSVC or RobustPipeline
        X, y : data to evaluate on
        radii : array, optional
            By default 101 values from 0 to where hardly any sample is left.
        name : str, optional
            For the legend; by default the estimator's name and radius, where it was
            trained with one.
        ax : matplotlib Axes, optional
        X_err : error bars of the data, optional
            As for `robust_score`; radii are factors on them.

        Returns
        -------
        CertifiedAccuracyDisplay
        """
        if radii is None:
            certified = estimator.certified_radius(X, X_err=X_err)
            certified = certified[np.isfinite(certified)]
            largest = np.quantile(certified, 0.99) if certified.size else 1.0
            radii = np.linspace(0, largest if largest > 0 else 1.0, 101)
        radii = np.asarray(radii, dtype=float)
        scores = (estimator.robust_score(X, y, r, X_err=X_err) for r in radii)
        accuracy = np.array(list(scores))
        trained = _last_step(estimator)._trained_radius()
        trained = None if isinstance(trained, dict) else trained or None
        if name is None:
            name = type(_last_step(estimator)).__name__
            name += f", radius {trained:g}" if trained else ""
        shown = {"accuracy": accuracy, "trained_radius": trained, "name": name}
        return cls(radii=radii, **shown).plot(ax=ax)

    def _draw(self, ax):
        (line,) = ax.plot(self.radii, self.accuracy, label=self.name)
        if self.trained_radius is not None and self.trained_radius <= self.radii[-1]:
            ax.axvline(self.trained_radius, color=line.get_color(), ls=":", lw=1)
        ax.set(xlabel="radius of the worst perturbation", ylabel="accuracy")
        ax.set(xlim=(self.radii[0], self.radii[-1]), ylim=(0, 1.02))
        if self.name is not None:
            ax.legend()


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay(_Display):
    """How often a class was the true one, beside the probability promised for it.

    Bars are one standard error of what would be seen if promises hold.

    Parameters
    ----------
    promised, observed, errors : arrays of shape (n_cells,)
        Mean probability, share of samples, and standard error of that share, in cells
        of equally many samples with similar probabilities.
    counts : array of shape (n_cells,)
        Samples in each cell.
    name : str, optional
        For the legend.
    """

    promised: np.ndarray
    observed: np.ndarray
    errors: np.ndarray
    counts: np.ndarray
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, label=None, n_cells=10, name=None, ax=None, X_err=None
    ):
        """Compare `predict_proba` with labels of samples that training did not see.

        Parameters
        ----------
        estimator : fitted MeasuredSVC, or another model with `predict_proba`
        X, y : data to evaluate on
        label : class label, optional
            Whose probability; by default that of the last class.
        n_cells : int, default=10
        name : str, optional
            For the legend; by default the estimator's name.
        ax : matplotlib Axes, optional
        X_err : error bars of the data, optional
            As for `predict_proba`.

        Returns
        -------
        ReliabilityDisplay
        """
        known = list(estimator.classes_)
        if label is not None and label not in known:
            raise ValueError(f"label={label!r} is not one of the classes {known}.")
        k = len(known) - 1 if label is None else known.index(label)
        given = {} if X_err is None else {"X_err": X_err}
        chance = np.asarray(estimator.predict_proba(X, **given))[:, k]
        true, order = np.asarray(y) == known[k], np.argsort(chance, kind="stable")
        cells = [part for part in np.array_split(order, n_cells) if len(part)]
        doubt = np.array([np.mean(chance[c] * (1 - chance[c])) for c in cells])
        counts = np.array([len(cell) for cell in cells])
        return cls(
            promised=np.array([chance[cell].mean() for cell in cells]),
            observed=np.array([true[cell].mean() for cell in cells]),
            errors=np.sqrt(doubt / counts),
            counts=counts,
            name=type(estimator).__name__ if name is None else name,
        ).plot(ax=ax)

    def _draw(self, ax):
        ax.plot([0, 1], [0, 1], color="0.6", ls=":", lw=1)
        given = {"yerr": self.errors, "fmt": "o-", "ms": 4, "label": self.name}
        ax.errorbar(self.promised, self.observed, **given)
        ax.set(xlabel="promised probability", ylabel="share that came true")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        if self.name is not None:
            ax.legend()


@dataclass(kw_only=True, eq=False, repr=False)
class MarginDisplay(_Display):
    """A model of two features: boundary, margins, and every sample's uncertainty set.

    The picture behind the robust SVM: the margin keeps its distance from the sets
    around the samples, not from the samples alone.

    Parameters
    ----------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)
    radii : array of shape (n_samples,)
    outline : array of shape (n_points, 2) or (n_samples, n_points, 2)
        Boundary of the unit uncertainty set, or of that of every sample, about 0.
    coef : array of shape (n_problems, 2)
    intercept : array of shape (n_problems,)
    classes : array of labels
    middles : array of shape (n_samples, 2), optional
        Middles of the sets, where they are not the samples: those of lopsided boxes.
    """

    X: np.ndarray
    y: np.ndarray
    radii: np.ndarray
    outline: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray
    middles: np.ndarray | None = None

    @classmethod
    def from_estimator(cls, estimator, X, y, *, radius=None, ax=None, X_err=None):
        """Draw a fitted `RobustLinearSVC` of two features with data.

        Parameters
        ----------
        estimator : fitted RobustLinearSVC or RobustPipeline, of two features
        X, y : data to draw
        radius : float, dict or array of shape (n_samples,), optional
            Size of the uncertainty sets; by default that of training. A model that
            was trained with one radius per sample asks for them. With `X_err` in
            units of the errors, and 1 by default if there were none in training.
        ax : matplotlib Axes, optional
        X_err : error bars of the data, optional
            As for `robust_score`; every sample is drawn with its own box or ellipse.
            A model that was trained with error bars asks for them.

        Returns
        -------
        MarginDisplay
        """
        given, X, y = X, np.asarray(X, dtype=float), np.asarray(y)
        if X.ndim != 2 or X.shape[1] != 2:
            raise ValueError(
                f"X has shape {X.shape}; margins are drawn in two dimensions, so it "
                "must have two columns."
            )
        model, coef, _ = estimator._robust_model()
        judged = estimator._judge(given, X_err)
        values = estimator.decision_function(given).reshape(len(X), -1)
        if X_err is None:
            outline = as_shape(judged.noise, 2).outline()
        else:
            outline = judged.noise.outlines()
        return cls(
            X=X,
            y=y,
            radii=np.broadcast_to(model._radii(y, radius, X_err), (len(y),)),
            outline=outline,
            coef=coef,
            intercept=(values - X @ coef.T)[0],
            classes=model.classes_,
            middles=None if judged.off is None else X + judged.off,
        ).plot(ax=ax)

    def _draw(self, ax):
        from matplotlib.collections import PolyCollection

        middles = self.X if self.middles is None else self.middles
        for k, label in enumerate(self.classes):
            rows, color = self.y == label, f"C{k}"
            outline = self.outline if self.outline.ndim == 2 else self.outline[rows]
            sets = middles[rows, None] + self.radii[rows, None, None] * outline
            ax.add_collection(PolyCollection(sets, color=color, alpha=0.2, zorder=1))
            ax.scatter(*self.X[rows].T, s=14, color=color, label=str(label), zorder=2)
        ax.set_aspect("equal", adjustable="box")
        ax.autoscale_view()
        limits = {"xlim": ax.get_xlim(), "ylim": ax.get_ylim()}
        for k, (w, b) in enumerate(zip(self.coef, self.intercept, strict=True)):
            color = "k" if len(self.coef) == 1 else f"C{k}"
            for level in (-1, 0, 1) if w @ w > 0 else ():  # {x : ⟨w,x⟩ + b = level}
                foot = (level - b) * w / (w @ w)
                style = {"color": color, "ls": "--" if level else "-", "lw": 1}
                ax.axline(foot, foot + np.array([-w[1], w[0]]), zorder=3, **style)
        ax.set(**limits)
        ax.legend(title="class")


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay(_Display):
    """Coefficients over C for one radius, and shares of the samples below them.

    Parameters
    ----------
    Cs : array of shape (n_Cs,), ascending
    coefs : array of shape (n_Cs, n_features)
    removed, saturated, undecided : arrays of shape (n_Cs,)
        Shares of samples that the final certificates prove to have α = 0 and α = C, and
        share that the solution before left to the solver.
    radius : float
    feature_names : sequence of str
    """

    Cs: np.ndarray
    coefs: np.ndarray
    removed: np.ndarray
    saturated: np.ndarray
    undecided: np.ndarray
    radius: float
    feature_names: Sequence[str]

    _n_axes = 2

    @classmethod
    def from_path(cls, path, *, k=0, feature_names=None, ax=None):
        """Draw one radius of a `Path`; see `Path.plot`."""
        order = np.argsort(path.Cs, kind="stable")
        order = order[path.done[k, order]]
        if not order.size:
            raise ValueError(
                f"No point of radius {path.radii[k]:g} was reached; nothing to draw."
            )
        if feature_names is None:
            feature_names = [f"x{j}" for j in range(path.coefs.shape[2])]
        shares = {
            name: getattr(path, name)[k, order] / path.n_samples
            for name in ("removed", "saturated", "undecided")
        }
        return cls(
            Cs=path.Cs[order],
            coefs=path.coefs[k, order],
            radius=path.radii[k],
            feature_names=feature_names,
            **shares,
        ).plot(ax=ax)

    def _draw(self, axes):
        above, below = axes
        named = np.argsort(-np.abs(self.coefs).max(axis=0))[:8]  # as many as stand out
        others = np.delete(self.coefs, named, axis=1)
        above.semilogx(self.Cs, others, color="0.8", lw=0.8)
        for j in named:
            above.semilogx(self.Cs, self.coefs[:, j], label=str(self.feature_names[j]))
        above.axhline(0, color="0.5", lw=0.5)
        above.set(ylabel="coefficient", title=f"radius {self.radius:g}")
        _draw_shares(below, self.Cs, self.removed, self.saturated)
        below.semilogx(self.Cs, self.undecided, "k.-", label="read by the solver")
        below.set(xlabel="C", ylim=(0, 1.02))
        for ax in axes:
            ax.legend(frameon=False, **_BESIDE)


def _draw_shares(ax, x, removed, saturated, **style) -> None:
    """Fill what is removed, saturated and undecided over x, one above the other."""
    heights = (0 * x, removed, removed + saturated, np.ones(len(x)))
    names = {"removed": "C0", "saturated": "C1", "undecided": "0.9"}
    bands = zip(names.items(), pairwise(heights), strict=True)
    for (name, color), (low, high) in bands:
        ax.fill_between(x, low, high, color=color, label=name, linewidth=0, **style)
    ax.set_ylabel("share of samples")


def _last_step(estimator):
    return estimator[-1] if hasattr(estimator, "steps") else estimator
