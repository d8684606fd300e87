import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import wideberth
from measured import FORMS, make_arguments
from oracle import Answer, Task, judge
from problems import INTERCEPTS, intercept_options
from wideberth import RobustLinearSVC, solve
from wideberth.errors import fill
from wideberth.noise.reading import read_errors
from wideberth.problem import Problem
from wideberth.solvers.interior import InteriorPoint
from wideberth.solvers.shrinking import Shrinking


def near_the_same(one, two, problem_size=1.0, digits=1e-8):
    """Two answers to one strongly convex problem, both within `digits`."""
    values = one.certificate, two.certificate
    worst = max(v.gap + v.rounding for v in values)
    assert values[0].dual <= values[1].primal + worst
    assert values[1].dual <= values[0].primal + worst
    apart = np.linalg.norm(one.w - two.w)
    assert apart <= sum(np.sqrt(2 * (v.gap + v.rounding)) for v in values) + 1e-12


# -- the optimum ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "intercept"), list(itertools.product(FORMS, INTERCEPTS))
)
def test_the_optimum_is_that_of_the_oracle(form, intercept):
    pytest.importorskip("cvxpy")
    seed = FORMS.index(form)
    X, y, options = make_arguments(
        seed, n=25, d=3, form=form, weights="some zero", radii="some zero"
    )
    options |= intercept_options(intercept)
    found = solve(X, y, tol=1e-8, **options)
    oracle = solve(X, y, tol=1e-6, solver="conic", quiet=True, **options)
    assert found.converged
    assert found.certificate.gap <= 1e-8 * found.certificate.primal
    near_the_same(found, oracle)


@pytest.mark.parametrize("form", FORMS)
def test_an_intercept_that_is_not_unique_is_the_middle_of_the_best(form):
    X, _, options = make_arguments(2, n=20, d=3, form=form)
    y = np.resize([1.0, -1.0], 20)
    found = solve(X, y, C=0.02, tol=1e-8, **options)
    problem = Problem.from_data(X, y, C=0.02, intercept=0.0, **options)
    breaks = np.sort(y * problem.slack(found.w, 0.0))
    values = np.array([problem.at(found.w, b).value for b in breaks])
    best = breaks[values <= values.min() + 1e-12]
    assert best[-1] - best[0] > 1e-3
    assert found.b == pytest.approx(0.5 * (best[0] + best[-1]), abs=1e-9)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("shape", ["ellipsoid", "box", "covariance"])
@pytest.mark.parametrize("big", [1.5, 10.0, 100.0])
def test_kinks_are_proven_to_the_last_digits(shape, intercept, big):
    """All errors lie in one direction, which the best w avoids.

    A covariance is singular then, and what its own rounding leaves open of κ is the
    root of that: about 1e-7 of the errors.
    """
    rng = np.random.default_rng(0)
    n, d = 40, 4
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.normal(size=(n, d)) + y[:, None] * rng.normal(size=d)
    along = rng.normal(size=d) if shape == "covariance" else np.eye(d)[0]
    along = big * along / np.linalg.norm(along)
    errors = np.tile(along, (n, 1))
    if shape == "covariance":
        errors = np.tile(np.outer(along, along), (n, 1, 1))
    options = {"error_shape": "box" if shape == "box" else "ellipsoid"}
    options |= intercept_options(intercept)
    tol = 2e-7 * max(big, 5.0) if shape == "covariance" else 1e-8
    found = solve(X, y, X_err=errors, tol=tol, **options)
    assert found.converged
    if big == 100.0:
        assert abs(found.w @ along) < 1e-6 * big


def nearly_singular():
    """Four samples whose errors nearly all go together; exactly semidefinite."""
    X = np.array([[1.0, -1.0], [2.0, -1.0], [-1.0, 1.0], [-1.0, 2.0]])
    off = 1 - 2.0**-51
    S = np.tile(1e12 * np.array([[1.0, off], [off, 1.0]]), (4, 1, 1))
    return X, np.array([1, 1, -1, -1]), S


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_a_nearly_singular_covariance_has_a_certificate_that_holds(intercept, C):
    X, y, S = nearly_singular()
    options = {"C": C, "radius": 1.0, "X_err": S}
    found = solve(X, y, quiet=True, **options, **intercept_options(intercept))
    assert not wrongs(X, y, found, intercept, options)
    if not found.converged:
        assert "X_err holds covariances" in str(found.notes[0])


def wrongs(X, y, found, intercept, options):
    """What 200-bit arithmetic finds wrong in a solution."""
    task = Task(X, y, intercept=intercept, **options)
    proof = found.certificate
    given = found.w, found.b, found.alpha, proof.primal, proof.dual, proof.rounding
    return judge(task, Answer(*given, found.converged), 1e-6).complaints


def test_certified_radii_of_a_nearly_singular_covariance_are_not_too_large():
    X, y, S = nearly_singular()
    with pytest.warns(ConvergenceWarning, match="X_err holds covariances"):
        model = RobustLinearSVC(C=10.0, radius=1.0).fit(X, y, X_err=S)
    w, b = [Fraction(x) for x in model.coef_[0]], Fraction(model.intercept_[0])
    s = [[Fraction(x) for x in row] for row in S[0]]
    square = sum(w[j] * s[j][k] * w[k] for j in range(2) for k in range(2))
    radii = model.certified_radius(X, X_err=S)
    for x, radius in zip(X, radii, strict=True):
        score = sum(p * Fraction(q) for p, q in zip(w, x, strict=True)) + b
        assert 0.1 * score**2 <= Fraction(radius) ** 2 * square <= score**2
    assert model.robust_score(X, y, radius=0.99 * radii, X_err=S) == 1.0


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("form", ["ellipsoid", "box", "covariance"])
def test_a_model_that_noise_rules_out_is_proven_null(form, intercept):
    X, y, options = make_arguments(2, form=form, size=30.0)
    options |= intercept_options(intercept)
    with pytest.warns(wideberth.NullModelWarning):
        found = solve(X, y, tol=1e-8, **options)
    assert found.converged
    assert np.linalg.norm(found.w) < 1e-5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("spread", ["decades", "some zero", "rows zero", "one huge"])
def test_uneven_errors_are_solved_to_the_tolerance(form, spread):
    for C in (1e-3, 1.0, 1e3):
        X, y, options = make_arguments(7, form=form, spread=spread)
        found = solve(X, y, C=C, tol=1e-7, quiet=True, **options)
        if (form, spread) == ("covariance", "one huge"):  # singular, and κ left open
            assert found.relative_gap <= 1e-7
        else:
            assert found.converged


def test_errors_of_zero_are_no_errors():
    X, y, options = make_arguments(1)
    plain = solve(X, y, tol=1e-9)
    for shape in ("ellipsoid", "box"):
        for zero in (np.zeros(X.shape), sp.csr_array(X.shape)):
            found = solve(X, y, X_err=zero, error_shape=shape, tol=1e-9)
            near_the_same(found, plain)
    found = solve(X, y, X_err=options["X_err"], radius=0.0, tol=1e-9)
    near_the_same(found, plain)


@pytest.mark.parametrize("form", ["ellipsoid", "box"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_samples_and_rounds_on_many_rows_reach_the_optimum(form, intercept):
    X, y, options = make_arguments(5, n=20_000, d=5, form=form, radii="random")
    options |= intercept_options(intercept)
    rough = solve(X, y, tol=1e-4, random_state=0, **options)
    fine = solve(X, y, tol=1e-9, random_state=1, screening=None, **options)
    assert rough.converged
    assert fine.converged
    near_the_same(rough, fine)


# -- what is said about error bars ------------------------------------------------------

GOOD = np.full((6, 2), 0.1)
X6 = np.arange(12.0).reshape(6, 2)
Y6 = np.array([1, -1, 1, -1, 1, -1])
INDEFINITE = np.tile(np.diag([1.0, -0.5]), (6, 1, 1))


def with_cell(value):
    errors = GOOD.copy()
    errors[4, 1] = value
    return errors


@pytest.mark.parametrize(
    ("errors", "shape", "told"),
    [
        (GOOD[:5], "ellipsoid", r"shape \(5, 2\).*\(6, 2\)"),
        (GOOD[:, 0], "ellipsoid", r"shape \(6,\)"),
        (GOOD.T, "box", r"shape \(2, 6\)"),
        (with_cell(-0.5), "box", r"-0.5 at row 4, column 1"),
        (with_cell(np.inf), "ellipsoid", r"inf at row 4, column 1"),
        (with_cell(np.nan), "ellipsoid", r"no error at row 4, column 1.*fill"),
        (sp.csr_array(with_cell(-0.5)), "box", r"-0.5 at row 4, column 1"),
        (with_cell(1e160), "ellipsoid", r"1e\+160.*range"),
        ((GOOD, GOOD), "ellipsoid", r"pair .*box"),
        ((GOOD, GOOD[:4]), "box", r"shape \(4, 2\)"),
        ((GOOD, with_cell(-1.0)), "box", r"-1 at row 4.*magnitude"),
        (np.tile(np.eye(3), (6, 1, 1)), "box", r"\(6, 3, 3\).*ellipsoid"),
        (np.tile(np.eye(2), (5, 1, 1)), "ellipsoid", r"\(5, 2, 2\).*\(6, 2, 2\)"),
        (np.full((6, 2, 2), np.nan), "ellipsoid", r"finite|NaN|nan"),
        (INDEFINITE, "ellipsoid", r"row 0 has the eigenvalue -0.5"),
        (-INDEFINITE[:, ::-1, ::-1], "ellipsoid", r"eigenvalue"),
        (-np.tile(np.eye(2), (6, 1, 1)), "ellipsoid", r"eigenvalue -1"),
        (GOOD, "sphere", r"error_shape='sphere'.*ellipsoid"),
        (GOOD, None, r"error_shape=None"),
        ([["a", "b"]] * 6, "ellipsoid", r"X_err"),
    ],
)
def test_errors_that_cannot_be_are_named(errors, shape, told):
    for call in (solve, wideberth.critical_radius):
        with pytest.raises((ValueError, TypeError), match=told):
            call(X6, Y6, X_err=errors, error_shape=shape)


def test_frames_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    X, y, options = make_arguments(14, d=3)
    frame = pd.DataFrame(X, columns=["u", "g", "r"])
    errors = pd.DataFrame(options["X_err"], columns=["u", "g", "r"])
    whole = solve(X, y, X_err=options["X_err"], tol=1e-8)
    for turned in (errors, errors[["r", "u", "g"]]):
        found = solve(frame, y, X_err=turned, tol=1e-8)
        np.testing.assert_allclose(found.w, whole.w, rtol=1e-6)
    down = errors[["g", "r", "u"]]
    pairs = [
        solve(frame, y, X_err=pair, error_shape="box", tol=1e-8).w
        for pair in ((errors, 2 * errors), (down, 2 * errors))
    ]
    np.testing.assert_allclose(*pairs, rtol=1e-6)
    with pytest.raises(ValueError, match="X_err"):
        solve(frame, y, X_err=errors.rename(columns={"g": "i"}))
    bad = errors.copy()
    bad.loc[3, "g"] = np.nan
    with pytest.raises(ValueError, match="row 3, column 'g'"):
        solve(frame, y, X_err=bad[["r", "u", "g"]])


def test_a_covariance_that_is_semidefinite_up_to_rounding_is_taken():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(6, 2, 1))
    S = flat @ flat.transpose(0, 2, 1)
    S[:, 1, 1] -= 1e-12
    bars = read_errors(S, "ellipsoid", X6.shape)
    assert np.all(bars.supports(np.ones(2)) >= 0)
    assert solve(X6, Y6, X_err=S, quiet=True).converged


def test_missing_errors_are_filled_by_the_rule_asked_for():
    errors = np.array([[0.1, np.nan], [np.nan, 0.2], [0.3, 0.4]])
    X = np.array([[1.0, -2.0], [-4.0, 5.0], [7.0, 8.0]])
    exact = fill(errors, "exact")
    np.testing.assert_array_equal(exact, [[0.1, 0.0], [0.0, 0.2], [0.3, 0.4]])
    median = fill(errors, "median")
    np.testing.assert_allclose(median, [[0.1, 0.3], [0.2, 0.2], [0.3, 0.4]])
    share = fill(errors, 0.5, X)
    np.testing.assert_allclose(share, [[0.1, 1.0], [2.0, 0.2], [0.3, 0.4]])
    assert np.isnan(errors).sum() == 2


def test_rules_that_cannot_be_followed_are_named():
    errors = np.array([[0.1, np.nan], [0.2, np.nan]])
    with pytest.raises(ValueError, match=r"Column 1 .*no median"):
        fill(errors, "median")
    with pytest.raises(ValueError, match="give X, too"):
        fill(errors, 0.1)
    for rule in ("mean", -1, np.nan, np.inf, None, True):
        with pytest.raises(ValueError, match="rule"):
            fill(errors, rule, np.ones((2, 2)))
    with pytest.raises(ValueError, match="X"):
        fill(errors, 0.1, np.ones((3, 2)))


# -- at the ends of float64 -------------------------------------------------------------


def test_errors_whose_squares_vanish_are_refused_and_those_beside_larger_ones_are_not():
    with pytest.raises(ValueError, match=r"X_err holds 1e-160.*scale X and X_err up"):
        solve(1e-155 * X6, Y6, X_err=np.full(X6.shape, 1e-160))
    E = np.full(X6.shape, 0.1)
    E[2, 0] = 1e-160
    assert solve(X6, Y6, X_err=E, quiet=True).converged
    assert solve(1e-155 * X6, Y6, X_err=1e-159 * E, error_shape="box").converged


def test_an_attempt_that_finds_no_numbers_is_followed_by_another(monkeypatch):
    X, y, options = make_arguments(3)
    none = property(lambda engine: np.full(len(y), np.nan))
    monkeypatch.setattr(Shrinking, "run", lambda run, work, engine: (work, engine))
    monkeypatch.setattr(InteriorPoint, "alpha", none)
    found = solve(X, y, C=1.0, quiet=True, **options | {"radius": 1e3})
    assert found.converged
    assert not found.w.any()
