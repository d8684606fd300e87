"""Samples that a model is asked about: what is certain of them under moves.

`Judged` has decision values, and a shape of noise or sets in units of X, under which
they change linearly (`certify.py`). `JudgedImages` has boxes of raw data behind steps
that bend (`images.py`), which are another set for every radius.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wideberth import certify
from wideberth.estimators.images import Images
from wideberth.problem.arrays import host
from wideberth.problem.validation import check_per_sample


def judge(classifier, values, coef, bars) -> Judged | JudgedImages:
    """Samples with decision values, and error bars or, if None, the noise of training.

    Values are those of the measurements, wherever these are in their sets.
    """
    if isinstance(bars, Images):
        return JudgedImages(classifier, bars)
    return Judged(values, classifier, coef, classifier.noise_ if bars is None else bars)


class _AsTrained:
    """Radii of samples, in the units of training."""

    classifier: Any

    def radii(self, y, radius, X_err):
        """How far samples with these labels may be off; by default as in training."""
        return self.classifier._radii(y, radius, X_err)


@dataclass(frozen=True)
class Judged(_AsTrained):
    """Samples with noise that the model sees as it is."""

    values: np.ndarray  # decision values
    classifier: Any
    coef: np.ndarray  # weights in units of X
    noise: object  # in units of X: a shape, or the samples' own sets

    def certified_radius(self) -> np.ndarray:
        """How far each sample may move before its prediction can change."""
        return certify.certified_radius(self.values, self.coef, self.noise)

    def correct(self, labels: np.ndarray, radii) -> np.ndarray:
        """Whether every move within the radii leaves samples predicted as `labels`."""
        return certify.robust_correct(self.values, labels, self.coef, radii, self.noise)

    def worst_case(self, labels: np.ndarray, radii) -> np.ndarray:
        """The move of each sample that favours some wrong class most."""
        return certify.worst_case(self.values, labels, self.coef, radii, self.noise)


@dataclass(frozen=True)
class JudgedImages(_AsTrained):
    """Samples with boxes of raw data behind steps that bend."""

    classifier: Any
    images: Images

    def certified_radius(self) -> np.ndarray:
        """The largest factor on its errors under which no prediction can change.

        What is certain under some factor is so under all smaller ones, for boxes and
        their images grow with it. So the largest is found by bisection, over all
        numbers there are (those of float64, in the order of their bits), and it is
        one for which the certainty was computed. It ends where a box would leave what
        the steps take, and is infinite where nothing is left to try.
        """
        measured, _ = self.images.ends(0.0)
        intercept = host(self.classifier.intercept_)
        values = certify.decision_values(measured, self._coef, intercept)
        winner = values.argmax(axis=1) if values.ndim > 1 else (values > 0).astype(int)
        top = self.images.largest_radii()
        endless = self._certain(winner, top)
        kept, lost = np.zeros(len(top), dtype=np.int64), top.view(np.int64)
        while np.any(lost - kept > 1):
            tried = kept + (lost - kept) // 2
            certain = self._certain(winner, tried.view(np.float64))
            kept, lost = np.where(certain, tried, kept), np.where(certain, lost, tried)
        return np.where(endless, np.inf, kept.view(np.float64))

    def correct(self, labels: np.ndarray, radii) -> np.ndarray:
        """Whether every move within the radii leaves samples predicted as `labels`.

        A move out of what the steps take leaves none.
        """
        return self._certain(labels, check_per_sample(radii, len(labels), "radius"))

    def worst_case(self, labels: np.ndarray, radii) -> np.ndarray:
        """The move of each sample, to a corner, that favours some wrong class most."""
        rival = self._lead(labels, *self.images.ends(radii)).argmin(axis=1)
        coef = (
            self._coef if len(self._coef) > 1 else np.vstack([-self._coef, self._coef])
        )
        corners = np.sign((coef[rival] - coef[labels]) @ self.images.lead())
        radii = check_per_sample(radii, len(labels), "radius")
        down, up = self.images.sides
        moves = np.where(corners > 0, up, np.where(corners < 0, -down, 0.0))
        return radii[:, None] * moves

    @property
    def _coef(self) -> np.ndarray:
        return host(self.classifier.coef_)

    def _lead(self, labels, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        intercept = host(self.classifier.intercept_)
        return certify.box_lead(low, high, labels, self._coef, intercept)

    def _certain(self, labels: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Whether boxes of these radii are within reach and keep their labels."""
        low, high, inside, _ = self.images.within(radii)
        with np.errstate(over="ignore", invalid="ignore"):  # nan is not certain
            return inside & certify.wins(self._lead(labels, low, high), labels)
