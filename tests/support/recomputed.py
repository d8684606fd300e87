"""Every table of the report of a fit, computed anew from the data and the saved model.

Nothing here uses the code that describes a fit: means are NumPy's, folds and confusions
scikit-learn's, noise is by its formula (theory §2), and models are trained by the public
estimators. `CHECKS` has one function for each table, by its label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold

from wideberth import (
    MeasuredSVC,
    RobustKernelSVC,
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
)

#: Features that the report shows before it folds them up.
SHOWN = 25


# -- cells -----------------------------------------------------------------------------


def _near(value, expected, rtol=1e-6):
    np.testing.assert_allclose(float(value), float(expected), rtol=rtol, atol=1e-9)


def _written(text, form, expected):
    """The text is the number written in this form, rounding of its last bits aside."""
    shifts = (-1e-6, 0, 1e-6)
    ways = {form(expected * (1 + shift)).replace("-", "−") for shift in shifts}
    assert text in ways, (text, ways)


def text(cell, expected):
    assert (cell.text, cell.value) == (str(expected), str(expected))


def number(cell, expected, rtol=1e-6):
    _near(cell.value, expected, rtol)
    _written(cell.text, "{:.4g}".format, float(cell.value))


def count(cell, expected):
    assert int(cell.value) == expected
    assert int(cell.text.replace("\u202f", "")) == expected


def share(cell, expected):
    _near(cell.value, expected)
    _written(cell.text, lambda x: f"{100 * x:.1f} %", float(cell.value))


def ratio(cell, expected):
    _near(cell.value, expected)
    _written(cell.text, "{:.2f}".format, float(cell.value))


def bar(cell, expected, largest):
    _near(cell.value, expected)
    assert cell.width == float(f"{100 * abs(expected) / largest if largest else 0:.1f}")


def none(cell):
    assert (cell.text, cell.value) == ("–", "")


def with_error(cell, mean, error, rtol=1e-6, unit=100):
    """The error has two significant digits, and the mean as many decimals.

    Shares are written in per cent, numbers in a `unit` of 1.
    """
    _near(cell.value, mean, rtol)
    shown, _, behind = cell.text.removesuffix(" %").partition(" ± ")
    if error == 0:
        assert behind == "0"
        assert float(shown.replace("−", "-")) == pytest.approx(unit * mean)
        return
    if error < 1e-8 * max(abs(mean), 1e-4):
        return  # next to nothing, and a power of ten
    assert len(re.sub(r"^0\.0*|\.", "", behind)) == 2, behind
    half = 0.5 * 10.0 ** -len(behind.partition(".")[2]) * 1.001
    off = abs(float(shown.replace("−", "-")) - unit * mean)
    assert abs(float(behind) - unit * error) <= half + rtol * unit * error
    assert off <= half + rtol * unit * abs(mean)


def rows_of(table, *headings):
    """The rows of a table whose headings are these."""
    assert table.headings == list(headings)
    return table.rows


# -- noise and models ------------------------------------------------------------------


@dataclass
class Noise:
    """Sizes of the noise, one for each feature or each cell, and its shape."""

    sizes: np.ndarray
    shape: str = "l2"

    def take(self, rows):
        return Noise(self.sizes[rows], self.shape) if self.sizes.ndim == 2 else self

    def parts(self, v):
        """What each feature contributes to Ω(v), as shares, for a weight per row."""
        pull = np.abs(self.sizes * v) ** (2 if self.shape == "l2" else 1)
        return pull / pull.sum(axis=-1, keepdims=True)

    def size(self, v):
        """Ω(v): the most that noise of size 1 does to ⟨v, x⟩."""
        pull = np.abs(self.sizes * v)
        if self.shape == "l2":
            return np.sqrt((pull**2).sum(axis=-1))
        return pull.sum(axis=-1)


class Linear:
    """A fitted model in raw units, from what it says of the origin and of unit steps."""

    def __init__(self, model, d, **asked):
        at = model.decision_function(np.vstack([np.zeros(d), np.eye(d)]), **asked)
        at = at.reshape(d + 1, -1)
        self.b, self.W = at[0], (at[1:] - at[0]).T
        self.classes = model.classes_
        both = len(self.W) == 1  # half of the difference for each of two classes
        self.each = np.vstack([-self.W, self.W]) / 2 if both else self.W
        self.levels = np.r_[-self.b, self.b] / 2 if both else self.b

    def predict(self, X):
        if len(self.W) == 1:
            return self.classes[(X @ self.W[0] + self.b[0] > 0).astype(int)]
        return self.classes[(X @ self.W.T + self.b).argmax(axis=1)]

    def rivals(self, X, labels, noise):
        """Least noise that turns each row from its label, and the class it turns into."""
        scores = X @ self.each.T + self.levels
        at = np.searchsorted(self.classes, labels)
        apart = np.full(scores.shape, np.inf)
        for k in range(scores.shape[1]):
            other = at != k
            v = self.each[at] - self.each[k]
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = (scores[np.arange(len(X)), at] - scores[:, k]) / noise.size(v)
            apart[other, k] = reach[other]
        rival = apart.argmin(axis=1)
        return apart.min(axis=1), self.classes[rival], self.each[at] - self.each[rival]


# -- a fit -----------------------------------------------------------------------------


@dataclass
class Case:
    """What a fit was given, told once more for the oracle.

    `words` are its options; `X`, `y` the rows it uses, `kept` their places in the file.
    `radius` is the noise asked for, one for all or one each.
    """

    frame: pd.DataFrame
    words: str
    names: list[str]
    X: np.ndarray
    y: np.ndarray
    kept: np.ndarray | None = None
    ids: np.ndarray | None = None
    radius: float | np.ndarray = 0.0
    noise: Noise | None = None
    given: object = "l2"  # the parameter `noise` of the estimators
    errors: np.ndarray | None = None
    steps: tuple = ()
    settings: dict = field(default_factory=dict)  # of the classifier
    plain: dict = field(default_factory=dict)  # those an ordinary SVM shares
    folds: int = 5
    measured: bool = False
    scales: bool = False  # whether the report shows the sizes of the noise
    files: dict = field(default_factory=dict)
    choose: object = None  # what chooses C and a factor on the radius, from rows
    result: dict = field(default_factory=dict)
    model: object = None

    def __post_init__(self):
        self.kept = np.arange(len(self.y)) if self.kept is None else self.kept
        if self.noise is None:
            self.noise = Noise(np.ones(self.X.shape[1]))

    @property
    def robust(self):
        return bool(np.any(np.asarray(self.radius) > 0))

    @property
    def balanced(self):
        return self.settings.get("class_weight") == "balanced"

    @cached_property
    def classes(self):
        return np.unique(self.y)

    @cached_property
    def linear(self):
        asked = {"X_err": 0} if self.measured else {}
        if self.errors is not None and not self.measured:
            asked = {"X_err": np.zeros((len(self.names) + 1, len(self.names)))}
        return Linear(self.model, len(self.names), **asked)

    @cached_property
    def factor(self):
        """The factor on the radius that training chose."""
        return self.choose(self.X, self.y)[1] if self.choose else 1.0

    # -- cross-validation --------------------------------------------------------------

    @cached_property
    def splits(self):
        splitter = StratifiedKFold(self.folds, shuffle=True, random_state=0)
        return list(splitter.split(self.X, self.y))

    def train(self, rows, ordinary=False, C=None):
        """Fit to some rows, with the options or as an ordinary SVM; also its C."""
        X, y = self.X[rows], self.y[rows]
        if self.measured and not ordinary:
            model = MeasuredSVC(random_state=0, **self.settings)
            E = None if self.errors is None else self.errors[rows]
            return model.fit(X, y, X_err=E), self.settings.get("C", 1.0)
        settings = {**(self.plain if ordinary else self.settings)}
        radius = 0.0 if ordinary else self.radius
        radius = radius[rows] if np.ndim(radius) else radius
        if not ordinary and self.choose:
            C, factor = self.choose(X, y)
            radius = factor * radius
        C = settings.pop("C", 1.0) if C is None else C
        settings.pop("C", None)
        own = {}
        if np.ndim(radius):
            own["robustlinearsvc__radius"], radius = radius, 0.0
        if self.errors is not None and not ordinary:
            own["robustlinearsvc__X_err"] = self.errors[rows]
        classifier = RobustLinearSVC(
            C=C,
            radius=float(radius),
            noise=self.given,
            solver_options={"random_state": 0},
            **settings,
        )
        steps = [clone(step) for step in self.steps]
        return make_robust_pipeline(*steps, classifier).fit(X, y, **own), C

    def judged(self, model, rows):
        """Labels that a model gives to rows it has not seen, and their reach."""
        X = self.X[rows]
        if self.measured:
            takes = isinstance(model, MeasuredSVC)
            asked = {"X_err": self.errors[rows]} if takes else {}
            return model.predict(X, **asked), np.zeros(len(X))
        asked = {}
        if getattr(model[-1], "error_shape_", None) is not None:
            d = X.shape[1]
            asked = {"X_err": np.zeros((d + 1, d))}
        own = Linear(model, X.shape[1], **asked)
        labels = own.predict(X)
        return labels, own.rivals(X, labels, self.noise.take(rows))[0]

    @cached_property
    def contest(self):
        """Labels and reaches of the three models, by name."""
        n, found = len(self.y), {}
        rivals = bool(self.result["evaluation"]["gains"])
        for k, (train, test) in enumerate(self.splits):
            model, C = self.train(train)
            entered = {"this model": model}
            if rivals:
                tuned = self.result["evaluation"]["tuned"]["Cs"][k]
                entered["ordinary SVM, same C"] = self.train(train, True, C)[0]
                entered["ordinary SVM, C tuned"] = self.train(train, True, tuned)[0]
            for name, one in entered.items():
                labels, reach = self.judged(one, test)
                kept = found.setdefault(name, (np.empty(n, self.y.dtype), np.empty(n)))
                kept[0][test], kept[1][test] = labels, reach
        return found

    def right(self, name):
        return self.contest[name][0] == self.y

    def certain(self, name):
        reach = self.contest[name][1]
        return self.right(name) & ((reach > self.radius) | (self.radius == 0))

    def share(self, right, rows=slice(None)):
        """Accuracy on rows, balanced where classes are."""
        y, right = self.y[rows], right[rows]
        if not self.balanced:
            return right.mean()
        return np.mean([right[y == label].mean() for label in self.classes])

    def over_folds(self, right):
        each = [self.share(right, test) for _, test in self.splits]
        return np.mean(each), np.std(each, ddof=1)

    def gain(self, own, other):
        """Mean difference, and its standard error over rows."""
        apart = own.astype(float) - other
        parts = [apart]
        if self.balanced:
            parts = [apart[self.y == label] for label in self.classes]
        error = np.sqrt(sum(stats.sem(part) ** 2 for part in parts)) / len(parts)
        return np.mean([part.mean() for part in parts]), error

    # -- the problems that were solved -------------------------------------------------

    @property
    def svc(self):
        pipeline = self.model.pipeline_ if self.measured else self.model
        return pipeline[-1]

    @property
    def weights(self):
        """Factors on C, by which every class weighs the same where it shall."""
        n, K = len(self.y), len(self.classes)
        counts = {label: np.sum(self.y == label) for label in self.classes}
        each = [n / (K * counts[label]) if self.balanced else 1.0 for label in self.y]
        return np.array(each)

    def problems(self):
        """Signs, robust margins, weights and weight vector of each binary problem."""
        scores = self.X @ self.linear.W.T + self.linear.b
        if self.measured:
            scores = self.model.decision_function(self.X, X_err=self.errors)
            scores = scores.reshape(len(self.y), -1)
        positives = self.classes[1:] if len(self.classes) == 2 else self.classes
        weights = self.svc.C * self.weights
        for k, label in enumerate(positives):
            signs = np.where(self.y == label, 1, -1)
            size = 0.0 if self.measured else self.noise.size(self.linear.W[k])
            margins = signs * scores[:, k] - self.factor * self.radius * size
            yield label, margins, weights, self.svc.coef_[k], size


class Curve:
    """A fitted kernel machine, from what it says of rows and of rows beside them."""

    def __init__(self, model, classes):
        self.model, self.classes = model, classes
        self.predict = model.predict

    @property
    def b(self):
        return self.model[-1].intercept_

    def rivals(self, X, labels, noise):
        """Certified radii, the nearest class, and the slopes of its lead."""
        scores = self.model.decision_function(X).reshape(len(X), -1)
        slopes = np.empty((*scores.shape, X.shape[1]))
        for j in range(X.shape[1]):
            step = 1e-5 * X[:, j].std() * np.eye(X.shape[1])[j]
            ends = [self.model.decision_function(X + s * step) for s in (1, -1)]
            slopes[..., j] = (ends[0] - ends[1]).reshape(scores.shape) / (2 * step[j])
        assert scores.shape[1] == 1, "of two classes the rival is the other one"
        rival = np.where(labels == self.classes[0], *self.classes[::-1])
        return self.model.certified_radius(X), rival, slopes[:, 0]


@dataclass
class CurvedCase(Case):
    """A fit with --kernel, of two classes and noise that all rows share."""

    kernel: dict = field(default_factory=dict)  # parameters of the kernel machine
    longest: float = 0.0  # how far noise of the radius moves a row, at most

    @cached_property
    def linear(self):
        return Curve(self.model, self.classes)

    def train(self, rows, ordinary=False, C=None):
        """Fit a kernel machine to some rows, with the noise or without."""
        C = self.settings.get("C", 1.0) if C is None else C
        radius = 0.0 if ordinary else self.radius
        options = {"random_state": 0}
        machine = RobustKernelSVC(
            C, radius, noise=self.given, solver_options=options, **self.kernel
        )
        steps = [clone(step) for step in self.steps]
        return make_robust_pipeline(*steps, machine).fit(self.X[rows], self.y[rows]), C

    def line(self, rows):
        """A straight boundary under the same noise, with the best C for these rows."""
        splitter = StratifiedKFold(self.folds, shuffle=True, random_state=0)
        options = {"random_state": 0, "refit": False}
        settings = {"noise": self.given, "cv": splitter, "solver_options": options}
        X, y = self.X[rows], self.y[rows]
        search = RobustLinearSVCCV(12, [self.radius], **settings).fit(X, y)
        options = {"random_state": 0}
        model = RobustLinearSVC(
            search.C_, self.radius, noise=self.given, solver_options=options
        )
        return model.fit(X, y)

    def judged(self, model, rows):
        X = self.X[rows]
        return model.predict(X), model.certified_radius(X)

    @cached_property
    def contest(self):
        """That of kernel machines, with a straight boundary second."""
        n, line = len(self.y), (np.empty_like(self.y), np.empty(len(self.y)))
        for train, test in self.splits:
            line[0][test], line[1][test] = self.judged(self.line(train), test)
        assert n == len(line[0])
        first, *others = super().contest.items()
        return dict([first, ("straight boundary, C chosen", line), *others])

    def problems(self):
        """Of the features of the kernel, each of which moves by R(ρ) at most."""
        last, X = self.model[-1], self.X
        for _, step in self.model.steps[:-1]:
            X = step.transform(X)
        moved = np.sqrt(2 - 2 * np.exp(-last.gamma_ * self.longest**2))
        Z, (w,) = last.pipeline_[0].transform(X), last.coef_
        signs = np.where(self.y == self.classes[1], 1, -1)
        margins = signs * (Z @ w + last.intercept_) - moved * np.linalg.norm(w)
        yield self.classes[1], margins, last.C * self.weights, w, np.linalg.norm(w)


# -- tables ----------------------------------------------------------------------------


def _classes(case, table):
    kinds = {f"right {name}": counted for name, counted in _kinds(case).items()}
    arrows = [f"→ {label}" for label in case.classes]
    rows = rows_of(table, "class", "rows", "share of rows", *arrows, *kinds)
    expected = confusion_matrix(case.y, case.contest["this model"][0])
    for row, label, counts in zip(rows, case.classes, expected, strict=True):
        own, cells = case.y == label, iter(row)
        text(next(cells), label)
        count(next(cells), own.sum())
        share(next(cells), own.mean())
        for n in counts:
            count(next(cells), n)
        for counted in kinds.values():
            share(next(cells), counted("this model")[own].mean())


def _scales(case, table):
    shown = ["noise at radius 1"] if case.scales else []
    if case.errors is not None:
        shown = ["median error", "error as share of std"]
    rows = rows_of(table, "feature", "mean", "std", "min", "max", *shown)
    of = [np.nanmean, np.nanstd, np.nanmin, np.nanmax]
    for j, (row, name) in enumerate(zip(rows, case.names, strict=True)):
        text(row[0], name)
        for cell, how in zip(row[1:], of, strict=False):
            number(cell, how(case.X[:, j]))
        if case.scales:
            number(row[5], case.noise.sizes[j])
        if case.errors is not None:
            there = ~np.isnan(case.X[:, j])
            usual = np.median(case.errors[there, j])
            number(row[5], usual)
            share(row[6], usual / np.nanstd(case.X[:, j]))


def _noise_heading(case):
    if np.ndim(case.radius):
        return "under the worst noise of its radius"
    return f"under the worst noise, radius {case.radius:.4g}"


def _kinds(case):
    """Headings of kinds of accuracy, and which rows each counts as right."""
    kinds = {"as measured": case.right}
    return kinds | ({_noise_heading(case): case.certain} if _noisy(case) else {})


def _noisy(case):
    return case.robust and not case.measured


def _accuracy(case, table):
    kinds, rivals = _kinds(case), bool(case.result["evaluation"]["gains"])
    headings = ["model"]
    for heading, ahead in zip(
        kinds, ("difference", "difference under noise"), strict=False
    ):
        headings += [heading, *([ahead] if rivals else [])]
    *rows, last = rows_of(table, *headings)
    assert [row[0].text for row in rows] == list(case.contest)
    for row, name in zip(rows, case.contest, strict=True):
        cells = iter(row[1:])
        for counted in kinds.values():
            with_error(next(cells), *case.over_folds(counted(name)))
            if rivals:
                cell = next(cells)
                if name == "this model":
                    none(cell)
                else:
                    with_error(cell, *case.gain(counted("this model"), counted(name)))
    counts = [np.sum(case.y == label) for label in case.classes]
    always = 1 / len(counts) if case.balanced else max(counts) / len(case.y)
    text(last[0], "one class" if case.balanced else "most common class")
    for k, cell in enumerate(last[1:]):
        if rivals and k % 2:
            none(cell)
        else:
            share(cell, always)
    if rivals:
        _tuned(case)


def _tuned(case):
    """No C that was tried is much better on the other folds than the one taken."""
    grid = np.geomspace(1e-3, 1e3, 4)
    scores = {}
    for C in {*grid, *case.result["evaluation"]["tuned"]["Cs"]}:
        right = np.empty(len(case.y), dtype=bool)
        for train, test in case.splits:
            labels = case.judged(case.train(train, True, C)[0], test)[0]
            right[test] = labels == case.y[test]
        scores[C] = np.array([case.share(right, test) for _, test in case.splits])
    for k, C in enumerate(case.result["evaluation"]["tuned"]["Cs"]):
        others = np.arange(len(case.splits)) != k
        best = max(own[others].mean() for own in scores.values())
        assert scores[C][others].mean() >= best - 0.05


def _beside(case, table):
    """What the curve is ahead of a straight boundary: accuracies, certified radii."""
    rows = rows_of(
        table,
        "quantity",
        "this model",
        "straight boundary",
        "difference",
        "95 % interval",
    )
    names = ("this model", "straight boundary, C chosen")
    *kinds, last = rows
    told = _kinds(case)
    for row, (heading, counted) in zip(kinds, told.items(), strict=True):
        text(row[0], f"accuracy, {heading}")
        right = [counted(name) for name in names]
        for cell, own in zip(row[1:], right, strict=False):
            share(cell, np.mean([case.share(own, test) for _, test in case.splits]))
        with_error(row[3], *case.gain(*right))
        test = stats.ttest_rel(*(own.astype(float) for own in right))
        ends = test.confidence_interval(0.95)
        assert row[4].text == _ends(100 * ends.low, 100 * ends.high)
    text(last[0], "certified radius, median")
    reach = [np.where(case.right(name), case.contest[name][1], 0) for name in names]
    apart = np.sort(reach[0] - reach[1])
    for cell, own in zip(last[1:], (*reach, apart), strict=False):
        number(cell, np.sort(own)[(len(own) - 1) // 2])
    # The interval holds the median with a probability of at least 95 %, by the signs.
    low, high = (float(e.replace("−", "-")) for e in last[4].text.split(" to "))
    below, above = np.sum(apart < low - 1e-9), np.sum(apart > high + 1e-9)
    outside = stats.binom.cdf([below - 1, above - 1], len(apart), 0.5)
    assert outside.sum() <= 0.05
    assert stats.binom.cdf([below + 2, above + 2], len(apart), 0.5).sum() > 0.05


def _ends(low, high):
    return f"{low:.4g} to {high:.4g}".replace("-", "−")


def _critical(case, table):
    """At a radius just below it the best weights are not 0, just above they are."""
    rows = rows_of(table, "class against the rest", "critical radius")
    for row, label in zip(rows, case.classes, strict=True):
        text(row[0], label)
        low, _, high = row[1].text.partition(" to ")
        signs = np.where(case.y == label, 1, -1)
        for radius, null in (
            (0.97 * float(low), False),
            (1.03 * float(high or low), True),
        ):
            classifier = RobustLinearSVC(noise=case.given, radius=radius, tol=1e-6)
            steps = [clone(step) for step in case.steps]
            model = make_robust_pipeline(*steps, classifier).fit(
                case.X, signs, robustlinearsvc__sample_weight=case.weights
            )
            assert (np.abs(model[-1].coef_).max() < 1e-6) == null


def _flipping(case):
    """Right training rows by the least noise that turns them, and what it turns."""
    labels = case.linear.predict(case.X)
    reach, rival, v = case.linear.rivals(case.X, labels, case.noise)
    right = np.flatnonzero((labels == case.y) & np.isfinite(reach))
    order = right[np.argsort(reach[right], kind="stable")]
    return order, reach, rival, case.noise.parts(v)


def _flips(case, table):
    order, reach, rival, parts = _flipping(case)
    first = order[:15]
    named = [case.names[parts[i].argmax()] for i in first]
    differ = _noisy(case) and len(set(named)) > 1
    headings = ["row", *(["id"] if case.ids is not None else []), "class", "turns into"]
    least = "certified up to" if isinstance(case, CurvedCase) else "least noise"
    headings += [least, *(["in radii"] if _noisy(case) else [])]
    headings += ["through", "share"] if differ else []
    radii = np.broadcast_to(case.radius, len(case.y))
    place = {str(kept + 1): i for i, kept in enumerate(case.kept)}
    for row, nearest in zip(rows_of(table, *headings), first, strict=True):
        cells = dict(zip(headings, row, strict=True))
        i = place[cells["row"].text]
        # Rows on the margin turn by the same noise, up to rounding.
        assert reach[i] == pytest.approx(reach[nearest], rel=1e-6)
        text(cells["row"], case.kept[i] + 1)
        if case.ids is not None:
            text(cells["id"], case.ids[i])
        text(cells["class"], case.y[i])
        text(cells["turns into"], rival[i])
        number(cells[least], reach[i])
        if _noisy(case):
            ratio(cells["in radii"], reach[i] / radii[i])
        if differ:
            text(cells["through"], case.names[parts[i].argmax()])
            share(cells["share"], parts[i].max())
    found = case.result["flips"]
    assert found["right"] == np.sum(case.linear.predict(case.X) == case.y)
    assert found["flippable"] == np.sum(reach[order] <= radii[order])


def _precise(case, table):
    order, reach, _, parts = _flipping(case)
    flipped = order[(reach <= case.radius)[order]][:200]
    mean = parts[flipped].mean(axis=0)
    top = [j for j in np.argsort(-mean, kind="stable")[:10] if mean[j] > 0]
    rows = rows_of(table, "feature", "share of the noise", "as a bar")
    for row, j in zip(rows, top, strict=True):
        text(row[0], case.names[j])
        share(row[1], mean[j])
        bar(row[2], mean[j], mean[top[0]])


def _verdict(case):
    return case.model.verdict(case.X, X_err=case.errors)


def _doubtful(case, table):
    found = _verdict(case)
    doubtful = np.flatnonzero(found.chance > 1 - 0.95)
    order = doubtful[np.argsort(-found.chance[doubtful], kind="stable")][:25]
    rows = rows_of(
        table, "row", "class given", "prediction", "second class", "chance", "margin",
        "spread", "measure again", "share",
    )  # fmt: skip
    for row, i in zip(rows, order, strict=True):
        text(row[0], case.kept[i] + 1)
        text(row[1], case.y[i])
        text(row[2], found.label[i])
        text(row[3], found.runner_up[i])
        share(row[4], found.chance[i])
        number(row[5], found.margin[i])
        number(row[6], found.spread[i])
        text(row[7], found.remeasure[i])
        share(row[8], found.share[i])


def _again(case, table):
    found = _verdict(case)
    doubtful = np.flatnonzero(found.chance > 1 - 0.95)
    rows = rows_of(table, "feature", "doubtful rows", "of them missing", "mean share")
    seen, before = set(), np.inf
    for row in rows:
        name = row[0].value
        j = case.names.index(name)
        own = doubtful[found.remeasure[doubtful] == name]
        text(row[0], name)
        count(row[1], len(own))
        count(row[2], np.isnan(case.X[own, j]).sum())
        share(row[3], found.share[own].mean())
        assert len(own) <= before
        before = len(own)
        seen.add(name)
    assert seen == {*found.remeasure[doubtful].tolist()} - {None}


def _weights(case, table):
    W, spread = case.linear.W, np.nanstd(case.X, axis=0)
    effects = W * spread
    largest = np.abs(effects).max()
    weightless = ~np.any(np.abs(effects) > 1e-9 * largest, axis=0)
    order = np.argsort(-np.abs(effects).max(axis=0), kind="stable")
    order = [j for j in order if not weightless[j]]
    part = order[SHOWN:] if table.label == "The other features" else order[:SHOWN]
    binary, headings = len(W) == 1, ["feature"]
    for label in [""] if binary else case.classes:
        of = "" if binary else f", {label}"
        headings += [f"weight{of}", f"per std{of}"]
    headings += ["effect"] if binary else []
    for row, j in zip(rows_of(table, *headings), part, strict=True):
        text(row[0], case.names[j])
        for k in range(len(W)):
            number(row[1 + 2 * k], W[k, j], 1e-5)
            number(row[2 + 2 * k], effects[k, j], 1e-5)
        if binary:
            _near(row[-1].value, effects[0, j], 1e-5)
            assert abs(row[-1].width - 100 * abs(effects[0, j]) / largest) <= 0.051


def _certificates(case, table):
    ramp = getattr(case.svc, "ramp", None) is not None
    first = "class against the rest" if len(case.classes) > 2 else "class"
    headings = [first, "objective", "proven within", "no influence", "full weight"]
    headings += ["iterations", *(["left out"] if ramp else [])]
    problems = list(case.problems())
    for k, (row, problem) in enumerate(
        zip(rows_of(table, *headings), problems, strict=True)
    ):
        label, margins, weights, w, size = problem
        losses = np.maximum(1 - margins, 0)
        if ramp:
            losses = np.minimum(losses, 1 - case.svc.ramp)
            count(row[6], np.sum(margins < case.svc.ramp))
        objective = 0.5 * w @ w + weights @ losses
        if price := case.settings.get("norm_penalty"):
            objective += price * size
        text(row[0], label)
        _near(row[1].value, objective, 1e-6)
        _written(row[1].text, "{:.6g}".format, float(row[1].value))
        gap = case.svc.relative_gap_[k]
        _near(row[2].value, gap)
        shown = float(row[2].text.removesuffix(" %")) / 100
        assert gap <= shown * (1 + 1e-9)
        assert shown <= max(2.01 * gap, 1.01e-6)
        # What is proven to have no influence, or full weight, lies on that side.
        slack = np.sqrt(2 * case.svc.dual_gap_[k]) * (1 + np.abs(case.X).max())
        if not (case.measured or ramp or case.steps):
            assert float(row[3].value) <= np.mean(margins >= 1 - 10 * slack) + 1e-12
            assert float(row[4].value) <= np.mean(margins <= 1 + 10 * slack) + 1e-12
        share(row[3], case.svc.screening_[k]["removed"])
        share(row[4], case.svc.screening_[k]["saturated"])
        text(row[5], case.svc.n_iter_[k])


def _labels(case, table):
    """Rows left out that the model would put into another class, the furthest first."""
    named = ["id"] if case.ids is not None else []
    noisy = ["in radii"] if case.robust else []
    rows = rows_of(
        table, "row", *named, "label given", "prediction", "distance", *noisy
    )
    (_, margins, *_), *others = case.problems()
    assert not others
    predicted = case.linear.predict(case.X)
    reach = case.linear.rivals(case.X, predicted, case.noise)[0]
    out = np.flatnonzero((margins < case.svc.ramp) & (predicted != case.y))
    order = out[np.argsort(-reach[out], kind="stable")]
    radii = np.broadcast_to(case.radius, len(case.y))
    for row, i in zip(rows, order[:SHOWN], strict=True):
        cells = iter(row)
        text(next(cells), case.kept[i] + 1)
        if named:
            text(next(cells), case.ids[i])
        text(next(cells), case.y[i])
        text(next(cells), predicted[i])
        number(next(cells), reach[i])
        if noisy:
            number(next(cells), reach[i] / radii[i])


#: What computes each table anew, by its label.
CHECKS = {
    "Class by class": _classes,
    "Scales of the features": _scales,
    "The most doubtful labels": _labels,
    "Accuracy": _accuracy,
    "Balanced accuracy": _accuracy,
    "Critical radius": _critical,
    "The kernel beside a straight boundary": _beside,
    "Rows that flip most easily": _flips,
    "What to measure more precisely": _precise,
    "The most doubtful rows": _doubtful,
    "What to measure again": _again,
    "Weights": _weights,
    "The other features": _weights,
    "Certificates": _certificates,
}
