"""The problems of `make torture`: every family of numerical trouble, deterministic.

A case is a call (`solve`, `path` or `fit` of the estimator) with its arguments. Families
are generators; `cases()` lists them all in a fixed order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

#: What a case may be: no intercept, penalised, free.
INTERCEPTS = {"none": None, "penalised": 1.0, "free": 0.0}
SOLVERS = ("newton", "coordinate")
TINY = 5e-324


@dataclass
class Case:
    """One call that must end in a certificate or in plain words."""

    family: str
    name: str
    X: object
    y: np.ndarray
    options: dict = field(default_factory=dict)
    intercept: float | None = None
    call: str = "solve"

    @property
    def title(self) -> str:
        """Family and name."""
        return f"{self.family}: {self.name}"


_FAMILIES: dict[str, Callable[[], Iterator[tuple]]] = {}


def family(title: str):
    """Register a generator of (name, X, y, options, intercept[, call])."""

    def register(generator):
        _FAMILIES[title] = generator
        return generator

    return register


def cases() -> list[Case]:
    """All cases, family by family."""
    return [
        Case(title, *parts)
        for title, generator in _FAMILIES.items()
        for parts in generator()
    ]


def clouds(seed=0, n=24, d=4, separation=1.0):
    """Two Gaussian clouds."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    return rng.normal(size=(n, d)) + separation * y[:, None] * rng.normal(size=d), y


def grid(**axes):
    """Every combination, with a name that says which."""
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        name = " ".join(f"{key}={value}" for key, value in chosen.items())
        yield name, *values


@family("overall scale")
def overall_scale():
    X, y = clouds(1)
    exponents = (-150, -100, -50, -20, -8, 8, 20, 50, 100, 150)
    for name, e, b, solver in grid(e=exponents, b=INTERCEPTS, solver=SOLVERS):
        scale, options = 10.0**e, {"solver": solver}
        if e % 3:
            options["radius"] = 0.2 * scale
        if e % 100 == 0:
            options["C"] = scale**-2
        yield name, scale * X, y, options, INTERCEPTS[b]


@family("feature scales")
def feature_scales():
    patterns = {
        "even": np.linspace(-150, 150, 7),
        "one huge": np.array([0, 0, 150, 0]),
        "one tiny": np.array([0, -150, 0, 0]),
        "alternating": np.array([150, -150, 150, -150]),
        "mild": np.array([-6, 6, 0, 3]),
        "wide": np.array([-12, 12, 0, 6]),
        "growing": np.array([0, 50, 100, 150]),
        "small": np.array([-150, -140, -130, -120]),
    }
    radii = (0.0, 0.1)
    for name, p, b, solver, r in grid(
        p=patterns, b=INTERCEPTS, solver=SOLVERS, r=radii
    ):
        if solver == "coordinate" and b == "penalised":
            continue
        X, y = clouds(2, d=patterns[p].size)
        X = X * 10.0 ** patterns[p]
        yield name, X, y, {"radius": r, "solver": solver}, INTERCEPTS[b]


@family("C")
def every_C():
    X, y = clouds(3, n=40, separation=0.4)
    exponents = range(-12, 13, 2)
    for name, e, b, solver in grid(e=exponents, b=INTERCEPTS, solver=SOLVERS):
        radius = 0.05 * (e % 4 == 0)
        options = {"C": 10.0**e, "radius": radius, "solver": solver}
        yield name, X, y, options, INTERCEPTS[b]


@family("C and scale")
def C_and_scale():
    X, y = clouds(4, separation=0.6)
    Cs, scales = (1e-12, 1e-6, 1e6, 1e12), (1e-150, 1e-6, 1e6, 1e150)
    for name, C, scale, b, solver in grid(C=Cs, s=scales, b=INTERCEPTS, solver=SOLVERS):
        options = {"C": C, "solver": solver, "radius": 0.1 * scale}
        yield name, scale * X, y, options, INTERCEPTS[b]


@family("one sample per class")
def one_per_class():
    rng = np.random.default_rng(5)
    Cs = (1e-12, 1.0, 1e12)
    for name, d, C, b, solver in grid(d=(1, 3, 60), C=Cs, b=INTERCEPTS, solver=SOLVERS):
        X, y = rng.normal(size=(2, d)), np.array([1, -1])
        options = {"C": C, "radius": 0.1 * (d == 3), "solver": solver}
        yield name, X, y, options, INTERCEPTS[b]


@family("many more features than samples")
def wide():
    Cs = (1e-3, 1.0, 1e6)
    for name, C, b, solver, form in grid(
        C=Cs, b=INTERCEPTS, solver=SOLVERS, form=("dense", "sparse")
    ):
        X, y = clouds(6, n=8, d=300, separation=0.1)
        if form == "sparse":
            X[np.random.default_rng(6).random(X.shape) < 0.9] = 0.0
            X = sp.csr_array(X)
        radius = 0.3 if C == 1.0 else 0.0
        yield name, X, y, {"C": C, "radius": radius, "solver": solver}, INTERCEPTS[b]


@family("exactly separable")
def separable():
    rng, y = np.random.default_rng(7), np.repeat([1, -1], 10)
    X = np.column_stack([3.0 * y + rng.uniform(-1, 1, 20), rng.normal(size=20)])
    exact = np.column_stack([y.astype(float), np.zeros(20)])
    data = {"clear": (X, 0.0), "noisy": (X, 1.0), "touching": (exact, 1.0)}
    data["by a hair"] = exact * [[1e-6, 1.0]] + [[0, 1.0]], 0.0
    Cs = (1.0, 1e6, 1e12)
    for name, k, C, b, solver in grid(k=data, C=Cs, b=INTERCEPTS, solver=SOLVERS):
        X, radius = data[k]
        yield name, X, y, {"C": C, "radius": radius, "solver": solver}, INTERCEPTS[b]


@family("identical points")
def identical():
    y = np.array([1, -1, 1, -1, 1, 1])
    rows = {"ones": np.ones(3), "zeros": np.zeros(3), "1e150": np.full(3, 1e150)}
    rows["denormal"] = np.full(3, TINY)
    for name, k, b, solver, r in grid(
        k=rows, b=INTERCEPTS, solver=SOLVERS, r=(0.0, 0.5)
    ):
        X = np.tile(rows[k], (6, 1))
        yield name, X, y, {"radius": r, "solver": solver}, INTERCEPTS[b]


@family("copies of opposite label")
def contradictions():
    Cs = (1e-6, 1.0, 1e8)
    for name, C, b, solver, part in grid(
        C=Cs, b=INTERCEPTS, solver=SOLVERS, part=(0.3, 1.0)
    ):
        X, y = clouds(8, n=16, separation=2.0)
        k = int(part * 16)
        X, y = np.vstack([X, X[:k]]), np.append(y, -y[:k])
        yield name, X, y, {"C": C, "solver": solver, "radius": 0.01}, INTERCEPTS[b]


@family("constant and zero columns")
def dull_columns():
    columns = {"zero": 0.0, "one": 1.0, "1e8": 1e8, "1e150": 1e150, "-1e-150": -1e-150}
    for name, k, b, solver, form in grid(
        k=columns, b=INTERCEPTS, solver=SOLVERS, form=("dense", "sparse")
    ):
        X, y = clouds(9)
        X[:, 0], X[:, 2] = columns[k], 0.0
        X = sp.csr_array(X) if form == "sparse" else X
        yield name, X, y, {"radius": 0.05, "solver": solver}, INTERCEPTS[b]


def critical(X, y) -> float:
    """The radius from which on w = 0 without an intercept, C = 1: ‖Σz_i‖/n."""
    return float(np.linalg.norm(y @ X) / len(y))


@family("radii")
def radii():
    X, y = clouds(10)
    at = critical(X, y)
    sizes = {
        "0": 0.0,
        "denormal": TINY,
        "small": 1e-200,
        "below": np.nextafter(at, 0),
        "critical": at,
        "above": np.nextafter(at, np.inf),
        "1e10": 1e10,
        "1e150": 1e150,
        "largest": 1.7e308,
        "mixed": np.where(np.arange(24) % 3, 0.1, 1e10),
        "one huge": np.where(np.arange(24) == 5, 1e300, 0.1),
        "spread": 10.0 ** np.linspace(-300, 0, 24),
    }
    for name, k, b, solver in grid(k=sizes, b=INTERCEPTS, solver=SOLVERS):
        yield name, X, y, {"radius": sizes[k], "solver": solver}, INTERCEPTS[b]


@family("weights over twelve orders")
def weights():
    X, y = clouds(11, separation=0.5)
    steps = 10.0 ** np.linspace(-6, 6, 24)
    kinds = {
        "even": steps,
        "one heavy": np.where(np.arange(24) == 3, 1e12, 1.0),
        "one light": np.where(np.arange(24) == 3, 1e-12, 1.0),
        "by class": np.where(y > 0, 1e12, 1.0),
        "zeros": np.where(np.arange(24) % 3, steps, 0.0),
        "denormal": np.where(np.arange(24) % 3, 1.0, TINY),
    }
    for name, k, b, solver, C in grid(
        k=kinds, b=INTERCEPTS, solver=SOLVERS, C=(1e-6, 1.0)
    ):
        options = {"sample_weight": kinds[k], "C": C, "radius": 0.1, "solver": solver}
        yield name, X, y, options, INTERCEPTS[b]


@family("float32 at its limits")
def single_precision():
    largest = float(np.finfo(np.float32).max)
    scales = {"largest": largest / 8, "1e20": 1e20, "smallest": 1e-37}
    scales |= {"denormal": 1e-43, "C": 1.0}
    for name, k, b, solver, form in grid(
        k=scales, b=INTERCEPTS, solver=SOLVERS, form=("dense", "sparse")
    ):
        X, y = clouds(12)
        X = np.clip(X * scales[k], -largest, largest).astype(np.float32)
        C = 1e10 if k == "C" else 1.0
        X = sp.csr_array(X) if form == "sparse" else X
        yield name, X, y, {"C": C, "solver": solver, "radius": 0.1}, INTERCEPTS[b]


@family("denormals")
def denormals():
    X, y = clouds(13)
    kinds = {
        "all": (X * 1e-310, {}),
        "some": (np.where(np.arange(4) == 1, X * 1e-310, X), {}),
        "C": (X, {"C": 1e-310}),
        "C and X": (X * 1e-310, {"C": 1e12}),
        "tiny C large X": (X * 1e100, {"C": 1e-310, "radius": 1e99}),
        "below": (X * 1e-200, {"C": 1e12, "radius": 1e-201}),
    }
    for name, k, b, solver in grid(k=kinds, b=INTERCEPTS, solver=SOLVERS):
        X, options = kinds[k]
        yield name, X, y, options | {"solver": solver}, INTERCEPTS[b]


@family("beyond the range")
def beyond():
    X, y = clouds(14)
    kinds = {
        "X 1e300": (X * 1e300, {}),
        "X 1e200": (X * 1e200, {"radius": 1e199}),
        "C 1e300": (X, {"C": 1e300}),
        "C times weight": (X, {"C": 1e200, "sample_weight": np.full(24, 1e200)}),
        "penalty": (X * 1e150, {"intercept_penalty": 1e300}),
        "faint penalty": (X * 1e-150, {"intercept_penalty": 1e-300}),
    }
    for name, k, solver in grid(k=kinds, solver=SOLVERS):
        X, options = kinds[k]
        penalty = options.get("intercept_penalty")
        yield name, X, y, options | {"solver": solver}, penalty


@family("noise shapes")
def shapes():
    X, y = clouds(15)
    scales = {
        "even": 10.0 ** np.linspace(-150, 150, 4),
        "mild": np.array([0.0, 1e-6, 1.0, 1e3]),
        "huge": np.full(4, 1e150),
        "tiny": np.full(4, 1e-150),
        "zero": np.zeros(4),
    }
    for name, k, b, r in grid(k=scales, b=INTERCEPTS, r=(0.1, 1e-160, 1e100)):
        yield name, X, y, {"noise": scales[k], "radius": r}, INTERCEPTS[b]
    sizes = (1e-100, 1e-6, 1.0, 1e6, 1e100)
    for name, shape, scale in grid(shape=("linf", "l1"), s=sizes):
        options = {"noise": shape, "radius": 0.05 * scale, "solver": "conic"}
        yield name, scale * X, y, options, None
    covariance = np.cov(np.random.default_rng(1).normal(size=(4, 9)))
    for name, scale, b in grid(covariance=(1e-100, 1.0, 1e100), b=INTERCEPTS):
        options = {"noise": scale**2 * covariance, "radius": 0.1}
        yield name, scale * X, y, options, INTERCEPTS[b]


def label_kinds(y) -> dict:
    """The same two classes in every dtype that labels come in."""
    import pandas

    whole = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    positive = y > 0
    kinds = {name: (1 + positive).astype(name) for name in whole}
    kinds |= {
        f"float{k}": np.where(positive, 1.0, -1.0).astype(f"f{k // 8}")
        for k in (16, 32, 64)
    }
    words = np.where(positive, "no", "yes")
    kinds |= {
        "bool": positive,
        "str": words,
        "bytes": words.astype("S3"),
        "object": words.astype(object),
        "largest int64": np.where(positive, 2**63 - 1, -(2**63)),
        "largest uint64": np.where(positive, np.uint64(2**64 - 1), np.uint64(0)),
        "list": words.tolist(),
        "categorical": pandas.Series(pandas.Categorical(words)),
        "nullable": pandas.Series(positive.astype(int), dtype="Int64"),
        "nullable bool": pandas.Series(positive, dtype="boolean"),
        "string": pandas.Series(words, dtype="string"),
        "empty text": np.where(positive, "", "λ"),
        "three classes": np.arange(len(y)) % 3,
    }  # fmt: skip
    return kinds


@family("labels of every dtype")
def labels():
    X, y = clouds(16)
    for name, labels in label_kinds(y).items():
        yield name, X, labels, {}, 0.0, "fit"
        yield f"{name}, 1e140", X * 1e140, labels, {"radius": 1e139}, None, "fit"


@family("estimators")
def estimators():
    X, _ = clouds(17, n=30)
    Cs, sizes = (1e-12, 1e-3, 1e3, 1e8), (1e-120, 1.0, 1e120)
    for name, C, scale, classes in grid(C=Cs, s=sizes, classes=(2, 3)):
        labels = np.arange(30) % classes
        yield name, scale * X, labels, {"C": C / scale**2}, 0.0, "fit"
    y, steps = np.arange(30) % 2, np.linspace(0, 1, 30)
    for name, scale, b in grid(per_sample=sizes, b=INTERCEPTS):
        given = {"sample_weight": 10.0 ** (12 * steps - 6) / scale**2}
        given["radius"] = scale * 10.0 ** (-30 * steps)
        yield name, scale * X, y, {"fit": given}, INTERCEPTS[b], "fit"


@family("paths")
def paths():
    X, y = clouds(18)
    sizes = (1e-120, 1e-6, 1.0, 1e6, 1e120)
    for name, scale, b, solver in grid(s=sizes, b=INTERCEPTS, solver=SOLVERS):
        options = {"radii": scale * np.array([0.0, 0.1, 10.0]), "solver": solver}
        if scale == 1.0:
            options["Cs"] = 10.0 ** np.arange(-12, 13, 4.0)
        else:
            options["Cs"] = 4
        yield name, scale * X, y, options, INTERCEPTS[b], "path"


#: How errors are spread over twelve orders, rows and columns as given.
SPREADS = {
    "cells": lambda n, d, rng: 10.0 ** rng.uniform(-6, 6, size=(n, d)),
    "rows": lambda n, d, rng: 10.0 ** np.tile(np.linspace(-6, 6, n)[:, None], d),
    "columns": lambda n, d, rng: 10.0 ** np.tile(np.linspace(-6, 6, d), (n, 1)),
    "mostly small": lambda n, d, rng: 10.0 ** rng.uniform(-12, 0, size=(n, d)),
    "one huge": lambda n, d, rng: np.where(np.arange(n * d).reshape(n, d), 0.1, 1e9),
    "some zero": lambda n, d, rng: 0.1 * (rng.random((n, d)) < 0.5),
}


def error_bars(sizes, form, rng):
    """X_err and its shape as arguments."""
    if form != "covariance":
        return {"X_err": sizes, "error_shape": form}
    mixed = sizes[:, :, None] * rng.normal(size=(*sizes.shape, sizes.shape[1]))
    return {"X_err": mixed @ mixed.transpose(0, 2, 1)}


@family("errors over twelve orders")
def errors_over_twelve_orders():
    X, y = clouds(19)
    forms, Cs = ("ellipsoid", "box", "covariance"), (1e-3, 1.0, 1e6)
    for name, spread, form, C, b in grid(
        spread=SPREADS, form=forms, C=Cs, b=INTERCEPTS
    ):
        rng = np.random.default_rng(19)
        options = error_bars(SPREADS[spread](*X.shape, rng), form, rng)
        yield name, X, y, options | {"C": C}, INTERCEPTS[b]


@family("errors, radius and scale")
def errors_radius_and_scale():
    X, y = clouds(20)
    rng = np.random.default_rng(20)
    sizes = rng.uniform(0.0, 0.4, size=X.shape)
    scales, radii = (1e-120, 1e-6, 1.0, 1e6, 1e120), (1e-12, 1.0, 1e12)
    for name, scale, r, form, b in grid(
        s=scales, r=radii, form=("ellipsoid", "box"), b=INTERCEPTS
    ):
        options = error_bars(scale * sizes, form, rng) | {"radius": r}
        yield name, scale * X, y, options | {"C": scale**-2}, INTERCEPTS[b]


def integer_covariances(kind, n, d, rng):
    """Matrices that are positive semidefinite exactly, singular or nearly so."""
    if kind == "nearly":  # eigenvalues of 2 and of 2⁻⁵¹ along (1,1) and (1,−1)
        S = np.full((d, d), 1 - 2.0**-51)
        np.fill_diagonal(S, 1.0)
        return np.tile(1e12 * S, (n, 1, 1))
    rank = 1 if kind == "rank one" else d - 1
    B = rng.integers(-99, 100, size=(n, d, rank)).astype(float)
    S = B @ B.transpose(0, 2, 1)
    units = 2.0 ** rng.integers(-12, 13, size=d) if kind == "units" else np.ones(d)
    S = S * units[:, None] * units / 2.0**14
    if kind == "a little more":
        S[:, 0, 0] = np.nextafter(S[:, 0, 0], np.inf)
    return S


@family("covariances, singular or nearly")
def singular_covariances():
    X, y = clouds(21, n=8, d=3)
    kinds = ("nearly", "rank one", "units", "a little more")
    for name, kind, r, C, b in grid(
        kind=kinds, r=(1e-3, 1.0, 1e3), C=(1.0, 1e4), b=INTERCEPTS
    ):
        S = integer_covariances(kind, *X.shape, np.random.default_rng(21))
        yield name, X, y, {"X_err": S, "radius": r, "C": C}, INTERCEPTS[b]


@family("errors at the ends of float64")
def errors_at_the_ends():
    X, y = clouds(22, n=6, d=2)
    exponents, forms = (-158, -152, -149, 149, 153), ("ellipsoid", "box", "covariance")
    for name, e, share, form, C, b in grid(
        e=exponents, share=(1e-6, 0.2), form=forms, C=("1", "even"), b=INTERCEPTS
    ):
        rng, scale = np.random.default_rng(22), 10.0**e
        sizes = share * scale * rng.uniform(0.5, 1.0, size=X.shape)
        options = error_bars(sizes, form, rng)
        options["C"] = 1.0 if C == "1" else 10.0 ** np.clip(-2 * e, -300, 300)
        yield name, scale * X, y, options, INTERCEPTS[b]
