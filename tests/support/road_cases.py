"""The problems that every road of `roads.py` is walked with, and what an answer is."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wideberth import Box, CrossPolytope

#: Relative gap that every road is asked for.
TOL = 1e-8
#: Names of the features; the order of the columns is not that of the alphabet.
NAMES = ("mass", "temp", "size", "age")
ROWS, NEW = 90, 40
#: Rows whose label is wrong, where some are.
WRONG = slice(20, 26)
#: Scales of the noise of each feature, where it has one.
SCALES = np.array([0.5, 1.0, 0.25, 2.0])


@dataclass(frozen=True)
class Case:
    """A problem: numbers that every format writes and float32 holds exactly."""

    name: str
    labels: tuple = (-1, 1)
    radius: float | str = 0.0  # "own": one for each row
    noise: str = "l2"  # or "linf", "scales", "tolerances", "budget", "covariance"
    weighted: bool = False
    intercept: float | None = 0.0  # its penalty; None: there is none
    C: float = 0.5
    errors: str | None = None  # or "ellipsoid", "box", "lopsided"
    norm_penalty: float = 0.0
    ramp: float | None = None  # then classes are apart, and a few labels wrong
    distinct: int = ROWS  # rows that differ; weights differ in any case

    @cached_property
    def _drawn(self):
        rng = np.random.default_rng(len(self.labels))
        numbers = rng.integers(0, len(self.labels), ROWS + NEW)
        numbers[: len(self.labels)] = range(len(self.labels))
        X = rng.normal(size=(ROWS + NEW, 4)) * [1.0, 2.0, 0.5, 1.0]
        X[np.arange(len(X)), numbers] += 1.5
        X[rng.random(X.shape) < 0.2] = 0.0
        X[:, 0] += 0.5
        if self.ramp is not None:
            X[np.arange(len(X)), numbers] += 5.0
            numbers[WRONG] = (numbers[WRONG] + 1) % len(self.labels)
        beside = rng.uniform(0.25, 2.0, size=(2, ROWS))
        X[:ROWS], numbers[:ROWS] = X[self._same], numbers[self._same]
        beside[1] = beside[1][self._same]
        return _dyadic(X), numbers, _dyadic(beside)

    @property
    def _same(self):
        """For every row the one that it equals."""
        return np.arange(ROWS) % self.distinct

    @property
    def X(self):
        return self._drawn[0][:ROWS]

    @property
    def new(self):
        """Rows to predict."""
        return self._drawn[0][ROWS:]

    @property
    def numbers(self):
        """The class of each row, as a place in `labels`."""
        return self._drawn[1][:ROWS]

    @property
    def y(self):
        return np.array(self.labels)[self.numbers]

    @property
    def weight(self):
        return self._drawn[2][0] if self.weighted else None

    @property
    def radii(self):
        """Radii of the rows, where each has its own."""
        return self._drawn[2][1] / 8 if self.radius == "own" else None

    @cached_property
    def tables(self):
        """Lower and upper errors, the same but for lopsided boxes; there may be none."""
        if self.errors is None:
            return ()
        rng = np.random.default_rng(7)
        sizes = rng.uniform(0, 1, (ROWS, 4)) * (rng.random((ROWS, 4)) < 0.8)
        down = _dyadic(sizes * [1.0, 2.0, 0.5, 1.0])[self._same]
        return (down, _dyadic(2 * down)) if self.errors == "lopsided" else (down,)

    @property
    def error_shape(self):
        return "ellipsoid" if self.errors in (None, "ellipsoid") else "box"

    @property
    def shape(self):
        """What `noise` is given as."""
        mixed = np.array([[2, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 2]]) / 2
        return {
            "scales": SCALES,
            "tolerances": Box(SCALES),
            "budget": CrossPolytope(SCALES),
            "covariance": mixed @ mixed.T,
        }.get(self.noise, self.noise)

    @property
    def penalty(self):
        """What is said about the intercept."""
        return {
            "fit_intercept": self.intercept is not None,
            "intercept_penalty": self.intercept or 0.0,
        }

    def omega(self, w) -> float:
        """The norm of the noise, from its definition."""
        if self.noise == "covariance":
            return math.sqrt(max(w @ self.shape @ w, 0.0))
        order = {"l2": 2, "linf": 1, "scales": 2, "tolerances": 1, "budget": np.inf}
        scaled = w if self.noise in ("l2", "linf") else SCALES * w
        return np.linalg.norm(scaled, order[self.noise])

    @property
    def positives(self):
        """Classes that are one side of a binary problem each."""
        return [1] if len(self.labels) == 2 else range(len(self.labels))

    @property
    def longest(self):
        """How far each row may move, at most, in the Euclidean length."""
        radii = self.radii if self.radius == "own" else np.full(ROWS, self.radius)
        if self.errors is not None:
            # Boxes reach their corners, ellipsoids the end of their longest axis.
            order = np.inf if self.errors == "ellipsoid" else 2
            sides = np.maximum(self.tables[0], self.tables[-1])
            return radii * np.linalg.norm(sides, order, axis=1)
        if self.noise == "covariance":
            return radii * math.sqrt(np.linalg.eigvalsh(self.shape)[-1])
        sizes = {"l2": 1.0, "linf": 2.0, "tolerances": np.linalg.norm(SCALES)}
        return radii * sizes.get(self.noise, SCALES.max())

    def curved_objective(self, k, w, b, Z, gamma) -> float:
        """The same behind a kernel that turns the rows into Z (theory §19)."""
        moved = np.sqrt(2 - 2 * np.exp(-gamma * self.longest**2))
        sign = np.where(self.numbers == k, 1.0, -1.0)
        weight = np.ones(ROWS) if self.weight is None else self.weight
        margins = sign * (Z @ w + b) - moved * np.linalg.norm(w)
        loss = weight * np.maximum(1 - margins, 0)
        return math.fsum([0.5 * w @ w, 0.5 * self.intercept * b * b, *(self.C * loss)])

    def objective(self, k, w, b) -> float:
        """The objective of class k against the rest, from its definition."""
        omega = self.omega(w)
        priced = self.norm_penalty * omega
        X = self.X
        if self.errors is not None:
            down, up = self.tables[0], self.tables[-1]
            X, half = X + (up - down) / 2, (up + down) / 2
            wide = half @ np.abs(w)
            omega = np.sqrt(half**2 @ w**2) if self.errors == "ellipsoid" else wide
            priced = self.norm_penalty * np.abs(w).sum()
        sign = np.where(self.numbers == k, 1.0, -1.0)
        radii = self.radii if self.radius == "own" else np.full(ROWS, self.radius)
        weight = np.ones(ROWS) if self.weight is None else self.weight
        loss = np.maximum(1 - sign * (X @ w + b) + radii * omega, 0)
        if self.ramp is not None:
            loss = np.minimum(loss, 1 - self.ramp)
        terms = [0.5 * w @ w, 0.5 * (self.intercept or 0.0) * b * b, priced]
        return math.fsum([*terms, *(self.C * weight * loss)])


def _dyadic(values):
    """Rounded to 64ths: exact in float32 and in six decimals."""
    return np.round(values * 64) / 64


CASES = [
    Case("plain", intercept=None),
    Case("one radius", radius=0.25),
    Case("own radii and weights", radius="own", weighted=True, intercept=2.0),
    Case("own radii and a norm penalty", radius="own", norm_penalty=0.5),
    Case("scales", radius=0.5, noise="scales"),
    Case("covariance", radius=0.25, noise="covariance", intercept=None),
    Case("box and a norm penalty", radius=0.125, noise="linf", norm_penalty=0.5),
    Case("box of tolerances", labels=(0, 1), radius=0.125, noise="tolerances"),
    Case("labels of text", labels=("no", "yes"), radius="own"),
    Case("budget of errors", labels=(False, True), radius=0.25, noise="budget"),
    Case("three classes", labels=("ash", "birch", "oak"), radius=0.125),
    Case("three numbers", labels=(2, 3, 5), radius=0.125, weighted=True),
    Case("errors", radius=0.5, errors="ellipsoid"),
    Case("errors and own radii", radius="own", errors="ellipsoid", weighted=True),
    Case("tolerances", radius=0.25, errors="box", intercept=2.0, norm_penalty=0.5),
    Case("lopsided tolerances", radius=0.25, errors="lopsided"),
    Case("wrong labels", labels=("no", "yes"), radius=0.25, ramp=-1.0),
    Case("wrong labels and errors", radius=0.25, errors="ellipsoid", ramp=-0.5),
    Case("three, some wrong", labels=("a", "b", "c"), radius="own", ramp=-1.0),
    Case("repeated rows", radius="own", weighted=True, intercept=2.0, distinct=6),
    Case("repeated rows with errors", radius=0.25, errors="ellipsoid", distinct=10),
    Case("three with errors", labels=("a", "b", "c"), radius=0.25, errors="ellipsoid"),
]


@dataclass(frozen=True)
class Answer:
    """A model and its proof: one row of w for each binary problem."""

    w: np.ndarray
    b: np.ndarray
    gaps: np.ndarray
    predicted: list
    #: The fitted estimator, where there is one to store.
    model: object = None
