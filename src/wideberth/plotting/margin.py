"""The picture of a model of two features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideberth.noise import as_shape
from wideberth.noise.reading import in_the_middle
from wideberth.plotting.display import Display


@dataclass(kw_only=True, eq=False, repr=False)
class MarginDisplay(Display):
    """Model of two features: boundary, margins, and the noise set of each sample.

    The robust SVM keeps the sets outside the margins where it can, not only the
    samples.

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
        Centres of the sets, if they are not the samples (asymmetric boxes).
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
        radius : float or array of shape (n_samples,), optional
            Size of the sets; by default that of training. Required if the model was
            trained with a radius for each sample. With `X_err` it is in units of the
            errors, and 1 by default if the model was trained without errors.
        ax : matplotlib Axes, optional
        X_err : error bars of the data, optional
            As for `robust_score`; every sample is drawn with its own box or ellipse.
            Required if the model was trained with error bars.

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
        angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
        normals = np.column_stack([np.cos(angles), np.sin(angles)])
        if X_err is None:
            shape = as_shape(judged.noise, 2)
            outline = np.array([shape.maximizer(w) for w in normals])
        else:
            outline = np.stack([judged.noise.gradients(w) for w in normals], axis=1)
        radii = np.broadcast_to(model._radii(radius, X_err), (len(y),))
        return cls(
            X=X,
            y=y,
            radii=radii,
            outline=outline,
            coef=coef,
            intercept=(values - X @ coef.T)[0],
            classes=model.classes_,
            middles=None if X_err is None else in_the_middle(X, judged.noise, radii),
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
