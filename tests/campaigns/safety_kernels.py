"""Try to change a class within its certified radius; part of the campaign `safety.py`.

Models behind RBF and Laplacian kernels are trained on twenty tables: bundled ones, and
some made to be difficult. Every row is moved by somewhat less than its certified radius,
with the size of a move taken from the definition of the noise: at random, along and
against the gradient and the worst move of `worst_case`, and towards landmarks. A move is
wrong if the class changes, or if the prediction of a regression leaves its range. A row
is wrong, too, if `robust_score` and the certified radii disagree about it.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
from sklearn import datasets
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler

from wideberth import (
    Box,
    Correlated,
    RobustKernelSVC,
    RobustLinearRegressor,
    RobustLinearSVC,
    make_robust_pipeline,
)

COLUMNS = ["problems", "rows", "certified", "moves", "wrong"]
TABLES = 20
_NOISES = ("l2", "scales", "box", "correlated", "errors", "tolerances")
#: Rows of a table that are trained on and moved, and moves of each in each direction.
_ROWS, _RANDOM, _TOWARDS = 60, 24, 12


def make_table(number: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """One of the tables, with classes 0, 1, …"""
    seed = int(rng.integers(1 << 30))
    normal = rng.normal(size=(_ROWS, 4))
    ring = (np.square(normal).sum(axis=1) > 3).astype(int)
    cross = (normal[:, 0] * normal[:, 1] > 0).astype(int)
    bundled = {
        0: datasets.load_breast_cancer,
        1: datasets.load_wine,
        2: datasets.load_iris,
        3: datasets.load_digits,
        4: datasets.load_diabetes,
    }
    if number in bundled:
        X, y = bundled[number](return_X_y=True)
        rows = rng.permutation(len(X))[:_ROWS]
        y = y if number < 4 else y > np.median(y)
        X, y = X[rows], y[rows].astype(int)
        scale = X.std(axis=0)
        return X / np.where(scale > 0, scale, 1.0), y
    made = {
        5: lambda: datasets.make_moons(_ROWS, noise=0.15, random_state=seed),
        6: lambda: datasets.make_circles(_ROWS, noise=0.1, random_state=seed),
        7: lambda: (normal, cross),
        8: lambda: datasets.make_blobs(_ROWS, 3, centers=4, random_state=seed),
        9: lambda: (1e4 + normal, ring),
        10: lambda: (1e-6 * normal, ring),
        11: lambda: (1e6 * normal, cross),
        12: lambda: (np.repeat(normal[:12], 5, axis=0), np.repeat(cross[:12], 5)),
        13: lambda: (normal[:, :1], (np.sin(3 * normal[:, 0]) > 0).astype(int)),
        14: lambda: (rng.standard_t(1.5, size=(_ROWS, 3)), ring),
        15: lambda: (rng.integers(0, 4, size=(_ROWS, 3)).astype(float), cross),
        16: lambda: (normal, rng.integers(0, 3, size=_ROWS)),
        17: lambda: (normal, (np.arange(_ROWS) < 4).astype(int)),
        18: lambda: (np.column_stack([normal, np.full(_ROWS, 7.0)]), ring),
        19: lambda: (rng.normal(size=(_ROWS, 40)), ring),
    }
    return made[number]()


def make_noise(kind: str, X: np.ndarray, rng):
    """What `noise` says, errors of cells if any, and the size of moves of some rows."""
    n, d = X.shape
    unit = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    if kind in ("errors", "tolerances"):
        errors = unit * rng.exponential(size=(n, d)) + 1e-3 * unit
        order = 2 if kind == "errors" else np.inf
        return (
            "l2",
            errors,
            lambda moves, rows: np.linalg.norm(
                moves / errors[rows], ord=order, axis=-1
            ),
        )
    scales = unit * rng.uniform(0.2, 2, size=d)
    if kind == "box":
        size = lambda moves, _: np.abs(moves / scales).max(axis=-1)  # noqa: E731
        return Box(scales), None, size
    if kind == "correlated":
        root = rng.normal(size=(d, d)) * unit[:, None] / np.sqrt(d)
        covariance = root @ root.T + np.diag(0.05 * unit**2)
        whiten = np.linalg.inv(np.linalg.cholesky(covariance))
        size = lambda moves, _: np.linalg.norm(moves @ whiten.T, axis=-1)  # noqa: E731
        return Correlated(covariance), None, size
    scales = scales if kind == "scales" else np.ones(d)
    size = lambda moves, _: np.linalg.norm(moves / scales, axis=-1)  # noqa: E731
    return ("l2" if kind == "l2" else scales), None, size


def make_model(kind: str, noise, X: np.ndarray, errors, regress: bool, rng):
    """An unfitted model behind a kernel; the width of the kernel is drawn."""
    kernel = str(rng.choice(["rbf", "rbf", "laplacian"]))
    ahead = [StandardScaler()] if rng.integers(2) or kind == "l2" else []
    spread = 1.0 if ahead else max(float(X.var()), 1e-300)
    gamma = 10.0 ** rng.uniform(-2, 1) / X.shape[1] / spread
    gamma = gamma if kernel == "rbf" else gamma * np.sqrt(spread)
    longest = np.max(errors) if errors is not None else X.std() + 1e-12
    unit = 1.0 if errors is not None or kind != "l2" else longest
    shared = {
        "C": 10.0 ** rng.uniform(-1, 3),
        "radius": float(rng.choice([0.0, 0.01, 0.1])) * unit,
        "noise": noise,
        "error_shape": "box" if kind == "tolerances" else "ellipsoid",
    }
    m, seed = int(rng.integers(5, _ROWS)), int(rng.integers(1 << 30))
    if regress:
        last = RobustLinearRegressor(**shared)
    elif kernel == "rbf" and rng.integers(2):
        shared |= {"gamma": gamma, "n_components": m}
        return kernel, make_robust_pipeline(*ahead, RobustKernelSVC(**shared))
    else:
        last = RobustLinearSVC(**shared)
    step = Nystroem(kernel, gamma=gamma, n_components=m, random_state=seed)
    return kernel, make_robust_pipeline(*ahead, step, last)


def directions(X: np.ndarray, worst: np.ndarray, rng):
    """Directions to move rows in: (n, d) each."""
    n = len(X)
    for _ in range(_RANDOM):
        yield rng.normal(size=X.shape)
    for _ in range(_RANDOM // 2):
        yield np.sign(rng.normal(size=X.shape))  # corners of boxes
    for _ in range(_TOWARDS):
        yield X[rng.integers(n, size=n)] - X
    yield worst
    yield -worst
    for share in (0.03, 0.1, 0.3):
        moved = rng.normal(size=X.shape) * np.linalg.norm(worst, axis=1)[:, None]
        yield worst + share * moved / np.sqrt(X.shape[1])


def examine_kernels(seeds: range) -> dict[tuple[str, str], Counter]:
    """Attack a batch of models on tables that take turns."""
    total: dict[tuple[str, str], Counter] = {}
    for seed in seeds:
        rng = np.random.default_rng([seed, 43])
        X, y = make_table(seed % TABLES, rng)
        kind, regress = str(rng.choice(_NOISES)), rng.integers(6) == 0
        noise, errors, size = make_noise(kind, X, rng)
        kernel, model = make_model(kind, noise, X, errors, regress, rng)
        if regress:
            y = y + 0.3 * rng.normal(size=len(y))
        given = {} if errors is None else {"X_err": errors}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, **given)
            found = (_attack_ranges if regress else _attack)(
                model, X, y, given, size, rng
            )
        what = "range" if regress else "class"
        count = total.setdefault((what, f"{kernel}, {kind}"), Counter())
        count.update(problems=1, rows=len(X), **found)
    return total


def _moved(X: np.ndarray, sizes: np.ndarray, worst, size, rng):
    """Rows moved by less than these sizes, and which rows they are."""
    rows = np.flatnonzero(sizes > 0)
    sizes = sizes[rows]
    for way in directions(X, worst, rng):
        way = way[rows]
        unit = size(way, rows)
        good = np.isfinite(unit) & (unit > 0)
        way = np.where(good[:, None], way / np.where(good, unit, 1.0)[:, None], 0.0)
        at = X[rows] + (1 - 1e-9) * sizes[:, None] * way
        # What rounding made of the move is what counts.
        kept = good & (size(at - X[rows], rows) <= (1 - 1e-12) * sizes)
        yield at[kept], rows[kept]


def _attack(model, X, y, given, size, rng) -> dict[str, int]:
    said, certified = model.predict(X), model.certified_radius(X, **given)
    finite = np.isfinite(certified)
    far = 10 * certified[finite].max(initial=0.1)  # certified for all moves
    sizes = np.where(finite, certified, far)
    worst = model.worst_case(X, said, radius=sizes, **given)
    tally = Counter(certified=int(np.sum(certified > 0)), moves=0, wrong=0)
    for at, rows in _moved(X, sizes, worst, size, rng):
        if len(rows):
            tally["moves"] += len(rows)
            tally["wrong"] += int(np.sum(model.predict(at) != said[rows]))
    radius = float(rng.choice(sizes)) * rng.uniform(0.5, 1.5)
    expected = np.mean((said == y) & (certified > radius))
    score = model.robust_score(X, y, radius=radius, **given)
    near = np.sum(np.abs(certified - radius) <= 1e-9 * radius)
    tally["wrong"] += int(abs(score - expected) * len(X) > near + 1e-6)
    return tally


def _attack_ranges(model, X, y, given, size, rng) -> dict[str, int]:
    tally = Counter(certified=len(X), moves=0, wrong=0)
    radius = 10.0 ** rng.uniform(-2, 1)
    low, high = model.prediction_range(X, radius=radius, **given).T
    worst = rng.normal(size=X.shape)
    for at, rows in _moved(X, np.full(len(X), radius), worst, size, rng):
        if len(rows):
            found = model.predict(at)
            tally["moves"] += len(rows)
            tally["wrong"] += int(np.sum((found < low[rows]) | (found > high[rows])))
    return tally
