"""Samples that a model is asked about: what is certain of them under moves.

`Judged` has decision values, and a shape of noise or sets in units of X, under which
they change linearly (`certify.py`).

`JudgedBoxes` has boxes of raw data behind monotone steps (`moves.py`). A box is a
product of intervals. Steps that keep features apart make a box of it again: a monotone
one takes the ends of every interval to the ends of its image, and a linear one, no
feature of which reaches two outputs, does so too. That is exact, step by step (theory
§8.5). Images do not scale: the image of a box twice as large is not twice as large. So
a radius ρ_i grows the box in raw units, from x − ρ_ie⁻ to x + ρ_ie⁺, before any step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth import certify
from wideberth.estimators.moves import Chain
from wideberth.noise import Boxes, ErrorBars, keeps_apart
from wideberth.problem.arrays import host, quietly
from wideberth.problem.validation import check_per_sample, feature_names, float_array


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
class RawBoxes:
    """The box of each sample, x − ρe⁻ to x + ρe⁺ in raw units, behind fitted steps."""

    points: np.ndarray  # x
    sides: np.ndarray  # e⁻ and e⁺, (2, n, d)
    chain: Chain
    frame: Any = None  # no rows of the raw data, where it is a frame

    @classmethod
    def of(cls, X, bars: ErrorBars, chain: Chain) -> RawBoxes:
        """The boxes `bars` about the raw rows X."""
        if not isinstance(bars, Boxes):
            raise ValueError(
                f"X_err holds ellipsoids, and '{chain.bent}' is monotone and not "
                "linear, which makes no ellipsoid of one. Give error_shape='box' to "
                "the classifier: tolerances per cell, whose intervals go through such "
                "a step exactly."
            )
        if sp.issparse(X):
            raise ValueError(
                f"X is sparse, and '{chain.bent}' is monotone and not linear; error "
                "bars go through such a step for dense data only. Give X.toarray()."
            )
        for (name, _), moves in zip(chain.steps, chain.moves, strict=True):
            if not keeps_apart(moves.signs):
                raise ValueError(
                    f"'{name}' uses a feature in more than one output, beside "
                    f"'{chain.bent}', which is not linear: that makes neither boxes "
                    "nor ellipsoids. Use steps that keep features apart, such as "
                    "scalers and functions of one feature."
                )
        points = float_array(X, "X")
        sides = bars.sides
        if sides is None:
            sides = np.broadcast_to(bars.dense, (2, *points.shape))
        frame = X[:0] if hasattr(X, "columns") else None
        return cls(points, np.where(np.isnan(points), 0.0, sides), chain, frame)

    @cached_property
    def largest_radii(self) -> np.ndarray:
        """A radius for each sample beyond which float64 has no numbers for its box."""
        largest = float(np.finfo(np.float64).max)
        room = 0.25 * largest - np.abs(np.nan_to_num(self.points))
        widest = np.maximum(self.sides.max(axis=0), 1.0)
        return np.min(room / widest, axis=1, initial=largest)

    def signs(self, n_steps: int | None = None) -> sp.csr_array:
        """Which outputs of the first steps, or of all, follow which raw features."""
        found = sp.eye_array(self.points.shape[1], format="csr")
        for moves in self.chain.moves[:n_steps]:
            found = sp.csr_array(moves.signs @ found)
        return found

    def ends(self, radii) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the boxes behind the steps; a box that leaves a step is refused."""
        low, high, inside, first = self.within(radii)
        if first is None:
            return low, high
        step, row, column, value = first
        raw, names = self.signs(step)[[column]].indices, feature_names(self.frame)
        said = [str(j) if names is None else repr(names[j]) for j in raw.tolist()]
        raise ValueError(
            f"X_err takes feature {' and '.join(said)} of row {row} to a value of "
            f"{value:.6g}, where '{self.chain.steps[step][0]}' is not defined "
            f"({np.sum(~inside)} such rows). Give a smaller error or radius there, "
            "leave such rows out, or use a function that takes all numbers, such as "
            "np.arcsinh or PowerTransformer()."
        )

    def within(self, radii) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple | None]:
        """Ends of the boxes, the rows whose boxes all steps take, and the first other.

        That is told by step, row, feature and value. Boxes of others mean nothing.
        """
        n, first = len(self.points), None
        down, up = np.broadcast_to(radii, (n,))[:, None] * self.sides
        ends, inside = (self.points - down, self.points + up), np.ones(n, dtype=bool)
        for k, moves in enumerate(self.chain.moves):
            after = self._behind(k, *ends)
            missing = np.isnan(ends[0]).astype(float) @ abs(moves.signs).T > 0
            for before, end in zip(ends, after, strict=True):
                lost = ~np.isfinite(end) & ~missing
                if first is None and lost.any():
                    row, output = np.argwhere(lost)[0].tolist()
                    column = int(moves.signs[[output]].indices[0])
                    first = k, row, column, before[row, column]
                inside &= ~lost.any(axis=1)
                end[lost] = 0.0  # a number, which steps to come take
            ends = after
        return *ends, inside, first

    def _behind(self, k: int, low, high) -> tuple[np.ndarray, np.ndarray]:
        """Ends behind a step; nan where it is not defined.

        A feature moves one output, up or down, so that the least of all outputs are
        those of one point: low where they increase, high where they decrease.
        """
        moves = self.chain.moves[k]
        low, high = (
            np.where((x < moves.low) | (x > moves.high), np.nan, x) for x in (low, high)
        )
        down = np.ravel(moves.signs.sum(axis=0)) < 0
        lowest, highest = np.where(down, high, low), np.where(down, low, high)
        return self._transformed(k, lowest), self._transformed(k, highest)

    def _transformed(self, k: int, points: np.ndarray) -> np.ndarray:
        given: Any = points
        if self.frame is not None and k == 0:
            names = "columns" if hasattr(self.frame, "iloc") else "schema"
            given = type(self.frame)(points, **{names: list(self.frame.columns)})
        with quietly(), np.errstate(all="ignore"):  # points need not look like data
            out = self.chain.steps[k][1].transform(given)
        return np.array(out.toarray() if sp.issparse(out) else out, dtype=np.float64)


@dataclass(frozen=True)
class JudgedBoxes(_AsTrained):
    """Samples with boxes of raw data behind monotone steps."""

    classifier: Any
    boxes: RawBoxes

    def certified_radius(self) -> np.ndarray:
        """The largest factor on its errors under which no prediction can change.

        What is certain under some factor is so under all smaller ones, for boxes and
        their images grow with it. So the largest is found by bisection, over all
        numbers there are (those of float64, in the order of their bits), and it is
        one for which the certainty was computed. It ends where a box would leave what
        the steps take, and is infinite where nothing is left to try.
        """
        measured, _ = self.boxes.ends(0.0)
        values = certify.decision_values(measured, *self._model)
        winner = values.argmax(axis=1) if values.ndim > 1 else (values > 0).astype(int)
        top = self.boxes.largest_radii
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
        lead = certify.box_lead(*self.boxes.ends(radii), labels, *self._model)
        rival, (coef, intercept) = lead.argmin(axis=1), self._model
        _, coef = certify.every_class(intercept, coef)
        corners = np.sign((coef[rival] - coef[labels]) @ self.boxes.signs())
        radii = check_per_sample(radii, len(labels), "radius")
        down, up = self.boxes.sides
        moves = np.where(corners > 0, up, np.where(corners < 0, -down, 0.0))
        return radii[:, None] * moves

    @property
    def _model(self) -> tuple[np.ndarray, np.ndarray]:
        return host(self.classifier.coef_), host(self.classifier.intercept_)

    def _certain(self, labels: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Whether boxes of these radii are within reach and keep their labels."""
        low, high, inside, _ = self.boxes.within(radii)
        with np.errstate(over="ignore", invalid="ignore"):  # nan is not certain
            lead = certify.box_lead(low, high, labels, *self._model)
            return inside & certify.wins(lead, labels)
