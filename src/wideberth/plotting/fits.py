"""Displays of one fit: how well its promises hold."""

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


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Observed frequency of a class against its predicted probability.

    Bars are one standard error of the frequency if the probabilities are right.

    Parameters
    ----------
    promised, observed, errors : arrays of shape (n_cells,)
        Mean probability, frequency of the class, and standard error of this frequency,
        in cells of equally many samples with similar probabilities.
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
        """Compare `predict_proba` with labels of samples not used in training.

        Parameters
        ----------
        estimator : fitted MeasuredSVC, or another model with `predict_proba`
        X, y : data to evaluate on
        label : class label, optional
            The class whose probability is drawn; by default the last one.
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


def _last_step(estimator):
    return estimator[-1] if hasattr(estimator, "steps") else estimator
