"""Random robust SVMs for the tests: every shape, intercept, weight and oddity.

`make_problem` draws data, whose optimum a solver must find; `make_solved` starts from an
optimum and draws data that has it, so that rules can be held against it directly.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from wideberth import Box, CrossPolytope
from wideberth.noise import as_noise
from wideberth.problem import Problem
from wideberth.solvers.attempts import prove
from wideberth.solvers.base import Options
from wideberth.solvers.registry import choose_solver

SHAPES = ("l2", "linf", "l1", "ellipsoid")
#: All that a norm penalty may go with: scales per feature make polyhedra of the last.
PENALISED_SHAPES = (*SHAPES, "box", "cross-polytope")
_SCALED = {"ellipsoid": np.asarray, "box": Box, "cross-polytope": CrossPolytope}
INTERCEPTS = (None, 1.0, 0.0)
#: Penalties λ_b at which the intercept costs next to nothing, and nearly everything.
EXTREME_PENALTIES = (1e-4, 1e4)


def intercept_options(intercept):
    """What `solve` takes for an intercept as problems have it."""
    return {
        "fit_intercept": intercept is not None,
        "intercept_penalty": intercept or 0.0,
    }


def make_problem(
    seed,
    *,
    n=30,
    d=4,
    C=1.0,
    radius=0.1,
    shape="l2",
    intercept=None,
    spread_radii=False,
    radius_decades=0,
    weights="ones",
    oddity=None,
    sparse=False,
    dtype=np.float64,
    separation=1.0,
    unit=1.0,
    norm_penalty=0.0,
    targets="ones",
):
    """Two Gaussian clouds, made difficult in the ways asked for.

    `radius` is a multiple of `unit`, the size of the data; `radius_decades` are the
    powers of ten over which the radii of one problem spread; `norm_penalty` is that of
    each sample, in multiples of C·`unit`; `targets` are those of `_targets`.
    """
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    if oddity == "tiny class":
        y[:] = 1
    y[:2] = 1, -1
    X = rng.normal(size=(n, d)) + separation * y[:, None] * rng.normal(size=d)
    if oddity == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    if oddity == "constant column":
        X[:, 0] = 2.0
    if oddity == "zero column":
        X[:, -1] = 0.0
    if sparse:
        X[rng.random(X.shape) < 0.6] = 0.0
    noise = _noise(shape, d, rng)
    sample_weight = None
    if weights == "random":
        sample_weight = rng.exponential(size=n)
    if weights == "some zero":
        sample_weight = rng.integers(0, 3, size=n).astype(float)
        sample_weight[:2] = 1.0
    radii = unit * radius
    if spread_radii:
        radii = radii * rng.uniform(0, 2, size=n)
    if radius_decades:
        radii = radii * 10 ** (radius_decades * rng.uniform(-0.5, 0.5, size=n))
    X = (unit * X).astype(dtype)
    problem = Problem.from_data(
        sp.csr_array(X) if sparse else X,
        y,
        C=C,
        radius=radii,
        noise=noise,
        sample_weight=sample_weight,
        intercept=intercept,
        norm_penalty=norm_penalty * n * C * unit,
    )
    if targets == "ones":
        return problem
    return problem.with_targets(_targets(targets, n, np.random.default_rng(seed + 1)))


def _targets(kind, n, rng):
    """Targets of either sign, of one sign, with many ties, or of any size."""
    if kind == "normal":
        return rng.normal(size=n)
    if kind == "ties":
        return rng.integers(-2, 3, size=n).astype(float)
    if kind == "negative":
        return -rng.exponential(size=n)
    assert kind == "decades"
    return rng.normal(size=n) * 10 ** rng.uniform(-3, 3, size=n)


#: What `make_problem` takes for targets.
TARGETS = ("ones", "normal", "ties", "negative", "decades")


def _noise(shape, d, rng):
    """The shape itself, or scales of which one is 0."""
    if shape not in _SCALED:
        return shape
    scales = rng.uniform(0.0, 2.0, size=d)
    if d > 1:
        scales[rng.integers(d)] = 0.0
    return _SCALED[shape](scales)


def problems(
    shapes=SHAPES,
    intercepts=(*INTERCEPTS, *EXTREME_PENALTIES),
    max_n=40,
    max_d=6,
    log_C=(-4, 4),
    units=(1.0, 1.0, 1e-3, 1e3),
    norm_penalties=(0.0,),
    targets=("ones",),
):
    """Strategy over `make_problem`."""
    return st.builds(
        make_problem,
        seed=st.integers(0, 2**32 - 1),
        n=st.integers(4, max_n),
        d=st.integers(1, max_d),
        C=st.floats(*log_C).map(lambda e: 10.0**e),
        radius=st.sampled_from([0.0, 0.01, 0.1, 0.5, 2.0, 20.0]),
        shape=st.sampled_from(shapes),
        intercept=st.sampled_from(intercepts),
        spread_radii=st.booleans(),
        radius_decades=st.sampled_from([0, 0, 3]),
        weights=st.sampled_from(["ones", "random", "some zero"]),
        oddity=st.sampled_from(
            [None, "duplicates", "constant column", "zero column", "tiny class"]
        ),
        sparse=st.booleans(),
        dtype=st.sampled_from([np.float32, np.float64]),
        separation=st.sampled_from([0.0, 0.5, 3.0]),
        unit=st.sampled_from(units),
        norm_penalty=st.sampled_from(norm_penalties),
        targets=st.sampled_from(targets),
    )


def solved_pair(problem, tol, solver="newton"):
    """The pair of points that a solver proves."""
    control = Options(tol=tol, screening=None, random_state=0).control(problem)
    with np.errstate(all="ignore"):
        return prove(problem, control, None, choose_solver(problem, solver).solve)


def random_alpha(problem, rng):
    """A feasible dual point with entries at both bounds and between."""
    share = np.clip(rng.uniform(-0.5, 1.5, size=problem.n), 0, 1)
    return problem.repair(share * problem.weights)


# -- problems built around their optimum -----------------------------------------------


@dataclass(frozen=True)
class Solved:
    """A problem with its optimum, exact up to the rounding of the data."""

    problem: Problem
    w: np.ndarray
    b: float
    alpha: np.ndarray


def make_solved(
    seed,
    *,
    n=12,
    d=3,
    radius=0.3,
    shape="l2",
    intercept=None,
    radius_decades=0,
    duplicates=False,
    at_margin=0.4,
    unit=1.0,
):
    """A problem built around its optimum (theory §2).

    With robust margins m_i ≤ 1 where α_i = c_i, ≥ 1 where α_i = 0 and 1 between, rows

        z_i = (m_i − y_i b + ρ_i Ω(w)) w/‖w‖² + t_i ,   ⟨t_i,w⟩ = 0 ,

    have the margins m_i at (w,b), and Σα_i z_i = w + sv with a subgradient v of Ω at w
    iff ‖w‖² = Σα_i(m_i − y_i b) and Σα_i t_i = s(v − Ω(w) w/‖w‖²): then w = w(α).
    `at_margin` is the share of samples with 0 < α_i < c_i.
    """
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1, -1
    kind = rng.choice(
        ["margin", "full", "zero"],
        size=n,
        p=[at_margin, 0.6 * (1 - at_margin), 0.4 * (1 - at_margin)],
    )
    kind[:2] = "margin" if at_margin else "full"
    m = np.where(kind == "full", rng.uniform(0.0, 1.0, size=n), 1.0)
    m = np.where(kind == "zero", 1 + rng.exponential(size=n), m)
    m = np.where(rng.random(n) < 0.05, 1.0, m)  # at the margin and at a bound
    alpha = np.where(kind == "zero", 0.0, unit**-2 * rng.exponential(size=n))
    alpha, b = _balanced(alpha, y, m, intercept, rng)
    radii = unit * radius * 10 ** (radius_decades * rng.uniform(-0.5, 0.5, size=n))
    noise = as_noise(_noise(shape, d, rng), d)
    norm = np.sqrt(alpha @ (m - y * b))
    w, v = _direction(noise, d, rng)
    w *= norm / np.linalg.norm(w)
    omega, s = noise.support(w), alpha @ radii
    across = unit * rng.normal(size=(n, d))
    across -= np.outer(across @ w, w) / norm**2
    across += (s * (v - omega * w / norm**2) - alpha @ across) / alpha.sum()
    Z = np.outer((m - y * b + radii * omega) / norm**2, w) + across
    c = np.where(kind == "margin", alpha / rng.uniform(0.1, 0.9, size=n), alpha)
    c = np.where(kind == "zero", unit**-2 * rng.exponential(size=n), c)
    if duplicates:
        again = np.concatenate([np.arange(n), rng.integers(n, size=n // 2)])
        share = 1 / np.bincount(again, minlength=n)
        share = share[again]
        Z, y, radii = Z[again], y[again], radii[again]
        c, alpha = c[again] * share, alpha[again] * share
    problem = Problem.from_data(
        y[:, None] * Z,
        y,
        radius=radii,
        noise=noise,
        sample_weight=c,
        intercept=intercept,
    )
    return Solved(problem, w, b, alpha)


def _balanced(alpha, y, m, intercept, rng):
    """α scaled to an admissible balance Σα_i y_i, and the intercept that goes with it."""
    if intercept is None:
        return alpha, 0.0
    upper = y > 0
    heavier = alpha[upper].sum() / alpha[~upper].sum()
    alpha = np.where(upper, alpha, heavier * alpha)
    if not intercept:
        return alpha, float(rng.normal())
    # b = Σα_i y_i/λ_b; ‖w‖² = Σα_i m_i − λ_b b² stays positive.
    scale = rng.uniform(0.1, 0.9) * np.sqrt(intercept * (alpha @ m))
    extra = rng.integers(2)
    alpha[extra] += scale
    return alpha, float(y[extra] * scale / intercept)


def _direction(noise, d, rng):
    """A direction with the zeros and ties its shape brings, and a subgradient there."""
    w = rng.normal(size=d)
    v = noise.maximizer(w)
    few = rng.random(d) < 0.3
    few[rng.integers(d)] = False
    if noise.name == "linf":
        w = np.where(few, 0.0, w)
        v = np.where(few, rng.uniform(-1, 1, size=d), np.sign(w))
    if noise.name == "l1":
        w = np.where(few, w, np.sign(w) * np.abs(w).max())
        v = np.where(few, 0.0, np.sign(w) * rng.dirichlet(np.ones(d)))
        v /= np.abs(v).sum()
    return w, v


def solved_problems(shapes=SHAPES, intercepts=(*INTERCEPTS, *EXTREME_PENALTIES)):
    """Strategy over `make_solved`."""
    return st.builds(
        make_solved,
        seed=st.integers(0, 2**32 - 1),
        n=st.integers(4, 20),
        d=st.integers(1, 5),
        radius=st.sampled_from([0.01, 0.3, 3.0]),
        shape=st.sampled_from(shapes),
        intercept=st.sampled_from(intercepts),
        radius_decades=st.sampled_from([0, 3]),
        duplicates=st.booleans(),
        at_margin=st.sampled_from([0.0, 0.4, 1.0]),
        unit=st.sampled_from([1.0, 1e-3, 1e3]),
    )
