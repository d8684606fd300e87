"""Boxes of raw data behind steps that bend: one image for every radius.

A box is a product of intervals. Steps that keep features apart make a box of it again:
a monotone one (`monotone.py`) takes the ends of every interval to the ends of its
image, and an affine one x' = Ax + c, no feature of which reaches two outputs, takes the
box m ± h to Am + c ± |A|h. That is exact, step by step (theory §8.5).

Monotone images do not scale: the image of a box twice as large is not twice as large.
So a radius ρ_i grows the box in raw units, from x − ρ_ie⁻ to x + ρ_ie⁺ and before any
step, and `Images.at` gives what is seen behind the steps then, for radius 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth.estimators.affine import composed, step_maps, transformed
from wideberth.estimators.monotone import bends, directions, domain
from wideberth.estimators.probes import in_the_form_of
from wideberth.noise import Boxes, ErrorBars, keeps_apart
from wideberth.problem.validation import feature_names, float_array


@dataclass(frozen=True)
class Course:
    """Fitted steps as boxes go through them: A of affine ones, None of others."""

    steps: list  # pairs of a name and a transformer
    maps: list

    @classmethod
    def of(cls, steps: list, X, measured: bool) -> Course:
        """Steps proven to be affine on X and around it.

        Or, where samples are `measured` with errors of their own, known to be monotone.
        """
        maps = step_maps(steps, X, bends) if measured else step_maps(steps, X)
        return cls(steps, maps)

    @property
    def bent(self) -> str | None:
        """The name of the first step that bends, if any does."""
        found = (k for k, A in enumerate(self.maps) if A is None)
        return next((self.steps[k][0] for k in found), None)

    @property
    def linear(self) -> sp.csr_array:
        """A of all steps together, where none bends."""
        return composed(self.maps)

    def images(self, X, bars: ErrorBars) -> Images:
        """The boxes `bars` about the raw rows X, as seen behind the steps."""
        if not isinstance(bars, Boxes):
            raise ValueError(
                f"X_err holds ellipsoids, and '{self.bent}' bends, which makes no "
                "ellipsoid of one. Give error_shape='box' to the classifier: "
                "tolerances per cell, whose intervals go through such a step exactly."
            )
        if sp.issparse(X):
            raise ValueError(
                f"X is sparse, and '{self.bent}' bends; error bars go through such a "
                "step for dense data only. Give X.toarray()."
            )
        points = float_array(X, "X").astype(np.float64)
        sides = bars.sides
        if sides is None:
            sides = np.broadcast_to(bars.dense, (2, *points.shape))
        form = X[:0] if hasattr(X, "columns") else None
        return Images(points, np.where(np.isnan(points), 0.0, sides), self, form)

    def signs(self, n_features: int) -> list[sp.csr_array]:
        """For each step 1 and −1 where an output increases or decreases with a feature.

        No feature may reach two outputs.
        """
        found = []
        for (name, step), A in zip(self.steps, self.maps, strict=True):
            sign = directions(step, n_features) if A is None else A.sign()
            if not keeps_apart(sign):
                raise ValueError(
                    f"'{name}' uses a feature in more than one output, beside "
                    f"'{self.bent}', which bends: that makes neither boxes nor "
                    "ellipsoids. Use steps that keep features apart, such as scalers "
                    "and functions of one feature."
                )
            found.append(sp.csr_array(sign))
            n_features = sign.shape[0]
        return found


@dataclass(frozen=True)
class Images:
    """The box of each sample, x − ρe⁻ to x + ρe⁺ in raw units, behind the steps."""

    points: np.ndarray  # x
    sides: np.ndarray  # e⁻ and e⁺, (2, n, d)
    course: Course
    form: Any  # no rows of the raw data, where it is a frame

    @property
    def n(self) -> int:
        """Samples."""
        return len(self.points)

    @cached_property
    def signs(self) -> list[sp.csr_array]:
        """For each step which outputs increase and decrease with which features."""
        return self.course.signs(self.points.shape[1])

    def lead(self, n_steps: int | None = None) -> sp.csr_array:
        """The signs of all steps together, or of the first few."""
        first = sp.eye_array(self.points.shape[1], format="csr")
        return composed([first, *self.signs[:n_steps]])

    def take(self, rows) -> Images:
        """The boxes of some samples."""
        return replace(self, points=self.points[rows], sides=self.sides[:, rows])

    def largest_radii(self) -> np.ndarray:
        """A radius for each sample beyond which float64 has no numbers for its box."""
        largest = float(np.finfo(np.float64).max)
        room = 0.25 * largest - np.abs(np.nan_to_num(self.points))
        widest = np.maximum(self.sides.max(axis=0), 1.0)
        return np.min(room / widest, axis=1, initial=largest)

    def at(self, radii) -> tuple[np.ndarray, Boxes]:
        """Middles behind the steps and the boxes about them, under these radii."""
        low, high = self.ends(radii)
        return 0.5 * low + 0.5 * high, Boxes.of(0.5 * high - 0.5 * low)

    def ends(self, radii) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the boxes behind the steps; a box that leaves a step is refused."""
        low, high, inside, first = self.within(radii)
        if first is None:
            return low, high
        step, row, column, value = first
        raw, names = self.lead(step)[[column]].indices, feature_names(self.form)
        said = [str(j) if names is None else repr(names[j]) for j in raw.tolist()]
        raise ValueError(
            f"X_err takes feature {' and '.join(said)} of row {row} to a value of "
            f"{value:.6g}, where '{self.course.steps[step][0]}' is not defined "
            f"({np.sum(~inside)} such rows). Give a smaller error or radius there, "
            "leave such rows out, or use a function that takes all numbers, such as "
            "np.arcsinh or PowerTransformer()."
        )

    def within(self, radii) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple | None]:
        """Ends of the boxes, the rows whose boxes all steps take, and the first other.

        That is told by step, row, feature and value. Boxes of others mean nothing.
        """
        down, up = np.broadcast_to(radii, (self.n,))[:, None] * self.sides
        ends, first = (self.points - down, self.points + up), None
        inside = np.ones(self.n, dtype=bool)
        for k, sign in enumerate(self.signs):
            after = self._behind(k, ends)
            missing = np.isnan(ends[0]).astype(float) @ abs(sign).T > 0
            for before, end in zip(ends, after, strict=True):
                lost = ~np.isfinite(end) & ~missing
                if first is None and lost.any():
                    row, output = np.argwhere(lost)[0].tolist()
                    column = int(sign[[output]].indices[0])
                    first = k, row, column, before[row, column]
                inside &= ~lost.any(axis=1)
                end[lost] = 0.0  # a number, which steps to come take
            ends = after
        return *ends, inside, first

    def _behind(self, k: int, ends) -> tuple[np.ndarray, np.ndarray]:
        """Ends behind a step; nan where it is not defined.

        A feature moves one output, up or down, so that the least of all outputs are
        those of one point: low where they increase, high where they decrease.
        """
        least, most = domain(self.course.steps[k][1], ends[0].shape[1])
        low, high = (np.where((x < least) | (x > most), np.nan, x) for x in ends)
        down = np.asarray(self.signs[k].sum(axis=0)).ravel() < 0
        lowest, highest = np.where(down, high, low), np.where(down, low, high)
        return self._seen(k, lowest), self._seen(k, highest)

    def _seen(self, k: int, points: np.ndarray) -> np.ndarray:
        given = points if k else in_the_form_of(self.form, points)
        out = transformed(self.course.steps[k][1], given)
        return out.toarray() if sp.issparse(out) else np.array(out)
