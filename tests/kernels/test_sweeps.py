"""Sweeps of dual coordinate ascent, held against the same in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from wideberth.kernels.sweeps import best_step, layout, sweep

STORED = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sp.csr_array,
    "csr of 64 bits": lambda X: long_indices(sp.csr_array(X)),
}


def long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


class Samples:
    """Random samples with targets, weights and radii of their own, and D of them."""

    def __init__(self, seed=0, n=37, d=11, noise=0.3, beta=0.5, dtype=np.float64):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
        self.X = X.astype(dtype).astype(np.float64)  # as numbers of that type
        self.y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
        self.Z = self.y[:, None] * self.X
        self.targets = rng.normal(0.5, 1.0, size=n)
        self.weights, self.radii = rng.uniform(0.1, 2, n), noise * rng.uniform(0, 1, n)
        self.norms, self.beta = np.linalg.norm(self.X, axis=1), beta
        self.alpha = self.weights * rng.choice([0.0, 0.3, 1.0], size=n)

    @property
    def arrays(self):
        return self.y, self.targets, self.weights, self.radii, self.norms

    def slope(self, alpha, constant, i):
        """The derivative of D in α_i, `constant` being added to Σα_iy_i."""
        d, s = self.Z.T @ alpha, alpha @ self.radii
        size, b = np.linalg.norm(d), self.beta * (alpha @ self.y + constant)
        length = max(size - s, 0.0)
        along = self.Z[i] @ d / size if size > 0 else 0.0
        return self.targets[i] - self.y[i] * b - length * (along - self.radii[i])

    def maximise(self, alpha, constant, i):
        """α_i such that D is largest: bisection, D being concave."""
        low, high = 0.0, self.weights[i]
        for alpha[i], sign in ((low, 1.0), (high, -1.0)):
            if sign * self.slope(alpha, constant, i) <= 0:
                return
        for _ in range(100):
            alpha[i] = 0.5 * (low + high)
            if self.slope(alpha, constant, i) > 0:
                low = alpha[i]
            else:
                high = alpha[i]

    def epoch(self, alpha, constant, active, numbers):
        """Every active row in turn, runs of four rows in random order."""
        for i in random_order(len(active), numbers):
            self.maximise(alpha, constant, active[i])


def splitmix64(seed):
    """The generator's 64-bit numbers after a seed (Steele, Lea and Flood)."""
    state, mask = int(seed), 2**64 - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def random_order(n, numbers, run=4):
    def below(k):
        return ((next(numbers) >> 32) * k) >> 32

    cut, order = below(run), []
    for k in range((n + cut + run - 1) // run):
        place = below(k + 1)
        order.append(k)
        order[k], order[place] = order[place], k
    runs = [range(max(r * run - cut, 0), min(r * run - cut + run, n)) for r in order]
    return [i for each in runs for i in each]


def test_the_generator_is_the_published_one():
    numbers = splitmix64(1234567)
    assert next(numbers) == 6457827717110365317
    assert next(numbers) == 3203168211198807973


def test_an_order_has_every_row_once_and_keeps_neighbours_together():
    for n in (1, 2, 4, 5, 40, 41):
        order = random_order(n, splitmix64(n))
        assert sorted(order) == list(range(n))
    steps = np.diff(random_order(400, splitmix64(0)))
    assert np.count_nonzero(steps == 1) >= 300


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("noise", "beta"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.5)])
def test_epochs_are_those_of_the_reference(stored, dtype, noise, beta):
    samples = Samples(noise=noise, beta=beta, dtype=dtype)
    active = np.array([0, 3, 4, 5, 6, 9, 10, 20, 21, 22, 36])
    alpha, seeds = samples.alpha.copy(), np.array([3, 2**63], dtype=np.uint64)
    d, s = samples.Z.T @ alpha, float(alpha @ samples.radii)
    X = STORED[stored](samples.X.astype(dtype))
    s, balance = sweep(
        *layout(X),
        *samples.arrays,
        beta,
        active,
        seeds,
        alpha,
        d,
        s,
        float(alpha @ samples.y) + 0.7,
    )
    expected = samples.alpha.copy()
    for seed in seeds:
        samples.epoch(expected, 0.7, active, splitmix64(seed))
    np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(d, samples.Z.T @ alpha, atol=1e-12)
    assert s == pytest.approx(alpha @ samples.radii, abs=1e-12)
    assert balance == pytest.approx(alpha @ samples.y + 0.7, abs=1e-12)
    others = np.setdiff1d(np.arange(37), active)
    np.testing.assert_array_equal(alpha[others], samples.alpha[others])


@pytest.mark.parametrize("n_features", [1, 3, 7, 8, 9, 50])
def test_rows_of_any_length_are_read_to_their_end(n_features):
    samples = Samples(d=n_features)
    ends = []
    for store in STORED.values():
        alpha, d = np.zeros(37), np.zeros(n_features)
        seeds, everything = np.arange(3, dtype=np.uint64), np.arange(37)
        rows = layout(store(samples.X))
        sweep(*rows, *samples.arrays, 0.5, everything, seeds, alpha, d, 0.0, 0.0)
        np.testing.assert_allclose(d, samples.Z.T @ alpha, atol=1e-12)
        ends.append(alpha)
    np.testing.assert_allclose(ends[1:], [ends[0]] * (len(ends) - 1), atol=1e-8)


def test_no_active_row_moves_nothing():
    samples = Samples()
    alpha, d, seeds = samples.alpha.copy(), np.zeros(11), np.zeros(1, dtype=np.uint64)
    nobody = np.arange(0)
    rows = layout(samples.X)
    sums = sweep(*rows, *samples.arrays, 0.5, nobody, seeds, alpha, d, 0.2, 0.3)
    assert sums == (0.2, 0.3)
    np.testing.assert_array_equal(alpha, samples.alpha)


@given(
    st.tuples(*[st.floats(-3, 3)] * 2),
    st.floats(0, 2),
    st.floats(0, 3),
    st.floats(0, 2),
    st.floats(-2, 2),
    st.sampled_from([0.0, 0.3]),
)
def test_a_single_step_is_exact(vectors, scale, s, radius, linear, beta):
    d, z = np.array([scale, 0.7]), np.array(vectors)
    low, high = -0.6, 1.4

    def value(t):
        length = np.maximum(
            np.linalg.norm(d[:, None] + t * z[:, None], axis=0) - s - t * radius, 0
        )
        return linear * t - 0.5 * length**2 - 0.5 * beta * t**2

    grid = np.linspace(low, high, 20001)
    if s + low * radius < 0:
        s -= low * radius  # s stays ≥ 0 along the whole box
    step = best_step(d @ z, z @ z, d @ d, s, radius, linear, beta, low, high)
    assert low <= step <= high
    assert value(np.array([step]))[0] >= value(grid).max() - 1e-12


@pytest.mark.parametrize(("linear", "expected"), [(1.0, 0.8), (-1.0, -0.2), (0.0, 0.0)])
@pytest.mark.parametrize("radius", [0.0, 0.3])
def test_a_row_of_zeros_goes_to_the_bound_that_its_target_asks_for(
    linear, expected, radius
):
    step = best_step(0.0, 0.0, 0.0, 0.0, radius, linear, 0.0, -0.2, 0.8)
    assert step == expected


def test_a_step_from_no_direction_is_finite_whatever_rounding_left_of_the_noise():
    for s, radius in [(-1e-18, 0.1), (0.1, 0.5)]:  # less than 0 at once, or on the way
        step = best_step(0.0, 0.0, 0.0, s, radius, -1.0, 1.0, -0.2 * (1 + 1e-15), 0.8)
        assert -0.2 * (1 + 1e-15) <= step < 0
