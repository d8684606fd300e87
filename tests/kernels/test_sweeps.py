"""Sweeps of dual coordinate ascent, held against the same in NumPy."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from wideberth.kernels.sweeps import Sweeps, best_step

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

    def epoch(self, alpha, constant, numbers):
        """Every row in turn, runs of four rows in random order."""
        for i in random_order(len(alpha), numbers):
            self.maximise(alpha, constant, i)

    def sweeps(self, X, alpha, d, constant=0.0, seed=3, pull=0.0):
        """The compiled sweeps from a point."""
        balance = float(alpha @ self.y) + constant
        start = alpha, d, float(alpha @ self.radii), self.beta * balance, balance
        squares = self.norms**2
        samples = self.y, self.targets, self.weights, self.radii, squares
        return Sweeps(X, *samples, self.beta, pull, *start, self.value(alpha), seed)

    def value(self, alpha, constant=0.0):
        length = max(np.linalg.norm(self.Z.T @ alpha) - alpha @ self.radii, 0.0)
        balance = alpha @ self.y + constant
        return alpha @ self.targets - 0.5 * length**2 - 0.5 * self.beta * balance**2


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
@pytest.mark.parametrize(
    ("noise", "beta"), [(0.0, 0.0), (0.0, 0.5), (0.3, 0.0), (0.3, 0.5)]
)
def test_epochs_are_those_of_the_reference(stored, dtype, noise, beta):
    samples = Samples(noise=noise, beta=beta, dtype=dtype)
    alpha = samples.alpha.copy()
    d = samples.Z.T @ alpha
    X = STORED[stored](samples.X.astype(dtype))
    sweeps = samples.sweeps(X, alpha, d, constant=0.7, seed=2**63 + 1)
    start = samples.value(alpha, 0.7)
    sweeps.run(1, np.inf, 0.0)
    expected, numbers = samples.alpha.copy(), splitmix64(2**63 + 1)
    samples.epoch(expected, 0.7, numbers)
    np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(d, samples.Z.T @ alpha, atol=1e-12)
    assert sweeps.s == pytest.approx(alpha @ samples.radii, abs=1e-12)
    assert sweeps.balance == pytest.approx(alpha @ samples.y + 0.7, abs=1e-12)
    assert sweeps.b == pytest.approx(beta * sweeps.balance, abs=1e-12)
    rise = samples.value(alpha, 0.7) - start
    assert sweeps.value == pytest.approx(samples.value(samples.alpha) + rise)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("beta", [0.0, 0.5])
@pytest.mark.parametrize("n", [37, 400])
def test_they_go_on_until_the_gap_is_small(noise, beta, n):
    samples = Samples(n=n, noise=noise, beta=beta)
    alpha, d = np.zeros(n), np.zeros(11)
    sweeps = samples.sweeps(np.ascontiguousarray(samples.X), alpha, d)
    entries, visited = sweeps.run(100_000, np.inf, 1e-6)
    assert visited < sweeps.epochs * n  # some rows were left out for a while
    assert entries == visited * 11
    slopes = np.array([samples.slope(alpha, 0.0, i) for i in range(n)])
    hinges = samples.weights * np.maximum(slopes, 0.0)
    gap = float(np.sum(hinges - alpha * slopes))
    primal = samples.value(alpha) + gap
    assert sweeps.value == pytest.approx(samples.value(alpha))
    assert sweeps.gap == pytest.approx(gap, rel=1e-6)  # a look at all rows came last
    assert gap <= 1.001e-6 * primal


def test_a_gap_that_is_told_is_about_that_of_the_point():
    samples = Samples(n=400, noise=0.1, beta=0.0)
    alpha, d = np.zeros(400), np.zeros(11)
    sweeps = samples.sweeps(np.ascontiguousarray(samples.X), alpha, d)
    sweeps.run(2, np.inf, 0.0)
    slopes = np.array([samples.slope(alpha, 0.0, i) for i in range(400)])
    gap = np.sum(samples.weights * np.maximum(slopes, 0.0) - alpha * slopes)
    assert 0.2 < sweeps.gap / gap < 5


def test_limits_of_epochs_and_entries_end_them():
    samples = Samples()
    alpha, d = np.zeros(37), np.zeros(11)
    sweeps = samples.sweeps(samples.X, alpha, d)
    assert sweeps.run(2, np.inf, 0.0) == (2 * 37 * 11, 2 * 37)
    sweeps.run(1000, 1.0, 0.0)
    assert sweeps.epochs == 1  # one at least
    again = samples.sweeps(samples.X, np.zeros(37), np.zeros(11))
    again.run(1000, 37 * 11, 0.0)
    assert again.epochs == 1  # no more than so many


def one_by_one(samples, tol):
    """Sweeps, and after each of their epochs: entries and rows so far, the gap told."""
    n, d = samples.X.shape
    sweeps = samples.sweeps(samples.X, np.zeros(n), np.zeros(d))
    entries = rows = 0
    while True:
        read, visited = sweeps.run(1, np.inf, tol)
        entries, rows = entries + read, rows + visited
        yield sweeps, (entries, rows, sweeps.told_gap)


@pytest.mark.parametrize("tol", [1e-1, 1e-3])
def test_they_end_with_the_first_epoch_that_meets_the_tolerance(tol):
    samples = Samples(n=400, noise=0.1)
    steps = islice(one_by_one(samples, tol), 1000)
    met = (
        k for k, (at, _) in enumerate(steps, 1) if at.gap <= tol * (at.value + at.gap)
    )
    epochs = next(met)
    at_once = samples.sweeps(samples.X, np.zeros(400), np.zeros(11))
    at_once.run(100_000, np.inf, tol)
    assert at_once.epochs == epochs


@pytest.mark.parametrize("epochs", [1, 2, 9, 250])
def test_what_was_half_way_is_told(epochs):
    samples = Samples(n=60)
    seen = [told for *_, told in islice(one_by_one(samples, 0.0), epochs)]
    sweeps = samples.sweeps(samples.X, np.zeros(60), np.zeros(11))
    sweeps.run(epochs, np.inf, 0.0)
    half = [k for k, told in enumerate(seen[:100]) if told[0] <= 0.5 * seen[-1][0]]
    k = max(half, default=0)
    assert sweeps.halfway == (*seen[k][:2], k + 1, seen[k][2])


def test_a_free_intercept_is_balanced():
    samples = Samples(n=200, noise=0.0, beta=1.0)
    alpha, d = np.zeros(200), np.zeros(11)
    sweeps = samples.sweeps(samples.X, alpha, d, pull=1.0)
    sweeps.run(5000, np.inf, 1e-10)
    assert abs(alpha @ samples.y) < 1e-4 * alpha.sum()
    sweeps.penalise(2.0, 0.0)  # a penalty of ½ instead: b is that of α
    sweeps.run(1, np.inf, 0.0)
    assert sweeps.b == pytest.approx(2.0 * (alpha @ samples.y))


@pytest.mark.parametrize("n_features", [1, 3, 4, 5, 7, 8, 9, 12, 50])
def test_rows_of_any_length_are_read_to_their_end(n_features):
    samples = Samples(d=n_features)
    ends = []
    for store in STORED.values():
        alpha, d = np.zeros(37), np.zeros(n_features)
        samples.sweeps(store(samples.X), alpha, d).run(3, np.inf, 0.0)
        np.testing.assert_allclose(d, samples.Z.T @ alpha, atol=1e-12)
        ends.append(alpha)
    np.testing.assert_allclose(ends[1:], [ends[0]] * (len(ends) - 1), atol=1e-6)


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


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_left_out_and_come_back_as_in_the_reference(noise, seed):
    """Rows at a bound that ask to stay by more than any row of the epoch before."""
    samples = Samples(seed, n=80, noise=noise)
    alpha = samples.alpha.copy()
    expected, constant = alpha.copy(), 0.0
    sweeps = samples.sweeps(samples.X, alpha, samples.Z.T @ alpha)
    numbers, active = splitmix64(3), list(range(80))
    below = above = np.inf
    sizes = []
    for _ in range(6):
        down, up, kept = 0.0, 0.0, set(active)
        for place in random_order(len(active), numbers):
            i = active[place]
            slack = samples.slope(expected, constant, i)
            at_bound = samples.weights[i] if slack > 0 else 0.0
            if expected[i] == at_bound:
                if abs(slack) > (above if slack > 0 else below):
                    kept.discard(i)
                continue
            up, down = max(up, slack), max(down, -slack)
            samples.maximise(expected, constant, i)
        left_out = len(active) < 80
        active, below, above = sorted(kept), down, up
        sweeps.run(1, np.inf, 0.0)
        if left_out and sweeps.active == 80:
            break  # they come back: compared with the points until then
        np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-5)
        assert sweeps.active == len(active)
        sizes.append(len(active))
    assert min(sizes) < 80
