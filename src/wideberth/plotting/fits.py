"""Accuracy under the worst errors, as they grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideberth.plotting.display import Display


@dataclass(kw_only=True, eq=False, repr=False)
class CertifiedAccuracyDisplay(Display):
    """Accuracy under the worst errors, as a function of their size.

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
            By default 101 values from 0 to the radius at which hardly any sample is
            right.
        name : str, optional
            For the legend; by default the name of the estimator and its radius.
        ax : matplotlib Axes, optional
        X_err : error bars of the data, optional
            As for `robust_score`; radii are multiples of these errors.

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
        last = _last_step(estimator)
        trained = getattr(last, "best_estimator_", last).radius_
        trained = trained or None
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


def _last_step(estimator):
    return estimator[-1] if hasattr(estimator, "steps") else estimator
