"""What must not change when a problem is put differently, and what must in step.

Each relation turns a problem into one whose optimum is known from that of the first.
The two are trained apart and compared within what their certificates allow: P is
1-strongly convex, so a weight vector of gap G is within √(2G) of the optimum.
"""

import numpy as np
import pytest

from wideberth import RobustLinearSVC

_RNG = np.random.default_rng(5)
N, D = 40, 4
Y = np.where(_RNG.random(N) < 0.5, 1, 0)
X = _RNG.normal(size=(N, D)) + 0.8 * Y[:, None] * [1, -1, 0.5, 0]
ROOT = 0.5 * _RNG.normal(size=(D, D))
RADII = 0.2 * _RNG.uniform(0.01, 2, size=N)
WEIGHTS = _RNG.integers(1, 4, size=N).astype(float)
NOISES = {
    "l2": "l2",
    "linf": "linf",
    "l1": "l1",
    "scales": np.array([0.5, 2.0, 0.0, 1.0]),
    "covariance": ROOT @ ROOT.T,
}
INTERCEPTS = {
    "none": {"fit_intercept": False},
    "free": {"fit_intercept": True},
    "penalised": {"fit_intercept": True, "intercept_penalty": 0.7},
}


class Case:
    """A problem for `RobustLinearSVC`: data, and the arguments to go with it."""

    def __init__(self, noise, intercept):
        self.X, self.y, self.C, self.noise = X, Y, 0.8, NOISES[noise]
        self.radius, self.weight, self.intercept = RADII, WEIGHTS, INTERCEPTS[intercept]

    def fit(self):
        intercept = dict(self.intercept)
        steering = {"intercept_penalty": intercept.pop("intercept_penalty", 0.0)}
        model = RobustLinearSVC(
            self.C, noise=self.noise, tol=1e-8, solver_options=steering, **intercept
        )
        fitted = {"radius": self.radius, "sample_weight": self.weight}
        return model.fit(self.X, self.y, **fitted)

    def rows(self, chosen, weight=1.0):
        """Take these rows, with this factor on their weights."""
        self.X, self.y, self.radius = (
            self.X[chosen],
            self.y[chosen],
            self.radius[chosen],
        )
        self.weight = self.weight[chosen] * weight

    def features(self, matrix):
        """Replace x by Mx; the noise moves along."""
        self.X = self.X @ matrix.T
        if not isinstance(self.noise, str):
            full = np.diag(self.noise**2) if self.noise.ndim == 1 else self.noise
            full = matrix @ full @ matrix.T
            scales = (
                self.noise.ndim == 1 and np.count_nonzero(matrix, axis=1).max() == 1
            )
            self.noise = np.sqrt(np.diagonal(full)) if scales else full


def columns_permuted(case):
    order = np.array([2, 0, 3, 1])
    case.features(np.eye(D)[order])
    return lambda w: w[:, np.argsort(order)]


def a_feature_flipped(case):
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    case.features(np.diag(signs))
    return lambda w: w * signs


def rows_permuted(case):
    case.rows(np.random.default_rng(0).permutation(N))
    return lambda w: w


def rows_twice_at_half_the_weight(case):
    case.rows(np.tile(np.arange(N), 2), 0.5)
    return lambda w: w


def doubled_weights_and_half_of_C(case):
    case.rows(np.arange(N), 2.0)
    case.C /= 2
    return lambda w: w


def one_weight_split(case):
    rows = np.append(np.arange(N), [3, 3])
    share = np.ones(N + 2)
    share[[3, N, N + 1]] = 0.5, 0.2, 0.3
    case.rows(rows, share)
    return lambda w: w


def rows_without_weight_added(case):
    case.rows(np.append(np.arange(N), [1, 2]), np.append(np.ones(N), [0, 0]))
    case.X = np.vstack([case.X[:N], 100 * case.X[N:]])
    return lambda w: w


def classes_renamed(case):
    case.y = np.array(["no", "yes"])[case.y]
    return lambda w: w


def labels_flipped(case):
    case.y = 1 - case.y
    return lambda w: -w


def samples_mirrored(case):
    case.X = -case.X
    return lambda w: -w


def another_unit_for_all_features(case):
    """x → ax, ρ → aρ, C → C/a², λ_b → λ_b/a²: then w → w/a and P → P/a²."""
    a = 4.0
    case.X, case.C = a * case.X, case.C / a**2
    case.radius = a * case.radius  # in units of a noise shape that stays as it is
    if "intercept_penalty" in case.intercept:
        penalty = case.intercept["intercept_penalty"] / a**2
        case.intercept = case.intercept | {"intercept_penalty": penalty}
    return lambda w: a * w


def a_feature_of_zeros(case):
    """Noise alone makes no feature worth a weight."""
    case.X = np.column_stack([case.X, np.zeros(len(case.X))])
    _add_a_feature(case, 1.0)
    return lambda w: _without_the_last(w)


def another_unit_for_the_noise(case):
    """Scales, or square roots of covariances, times a; radii divided by it."""
    if not isinstance(case.noise, str):
        case.noise = case.noise * (4.0 if case.noise.ndim == 1 else 16.0)
        case.radius = case.radius / 4
    return lambda w: w


RELATIONS = [
    columns_permuted,
    a_feature_flipped,
    rows_permuted,
    rows_twice_at_half_the_weight,
    doubled_weights_and_half_of_C,
    one_weight_split,
    rows_without_weight_added,
    classes_renamed,
    labels_flipped,
    samples_mirrored,
    another_unit_for_all_features,
    a_feature_of_zeros,
    another_unit_for_the_noise,
]


def _add_a_feature(case, scale):
    """Of that noise scale; shapes by name give every feature the same."""
    if not isinstance(case.noise, str) and case.noise.ndim == 1:
        case.noise = np.append(case.noise, scale)
    elif not isinstance(case.noise, str):
        case.noise = np.pad(case.noise, (0, 1))
        case.noise[-1, -1] = scale**2


def _without_the_last(w):
    np.testing.assert_allclose(w[:, -1], 0, atol=1e-4)
    return w[:, :-1]


def _leeway(*models):
    """How far apart weights may be: √(2G) each, and a little for rounding."""
    gaps = [np.sqrt(2 * np.maximum(model.dual_gap_, 0)) for model in models]
    return np.sum(gaps, axis=0) + 1e-7


def _assert_same_weights(first, second, back, scale=1.0):
    """Compare the weights of `first` with those of `second`, led back by `back`."""
    distance = np.linalg.norm(back(second.coef_) - first.coef_, axis=1)
    allowed = _leeway(first) + scale * _leeway(second)
    assert np.all(allowed < 0.05 * np.linalg.norm(first.coef_))  # else it tells nothing
    assert np.all(distance <= allowed)


@pytest.fixture(scope="module")
def trained():
    """Models of the problems as they are, each trained once."""
    models = {}

    def of(noise, intercept):
        if (noise, intercept) not in models:
            models[noise, intercept] = Case(noise, intercept).fit()
        return models[noise, intercept]

    return of


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda r: r.__name__)
def test_the_same_problem_put_differently_has_the_same_solution(
    relation, noise, intercept, trained
):
    case = Case(noise, intercept)
    back = relation(case)
    scale = 4.0 if relation is another_unit_for_all_features else 1.0
    _assert_same_weights(trained(noise, intercept), case.fit(), back, scale)


@pytest.mark.parametrize("noise", NOISES)
def test_certificates_of_samples_follow_the_units(noise, trained):
    first, case = trained(noise, "free"), Case(noise, "free")
    another_unit_for_all_features(case)
    second = case.fit()
    radius = first.certified_radius(X)
    allowed = {"rtol": 0.02, "atol": 0.02 * np.median(radius)}
    np.testing.assert_allclose(second.certified_radius(4 * X) / 4, radius, **allowed)
