"""Random robust SVMs whose samples have sets of their own, for the tests."""

import numpy as np
import scipy.sparse as sp

from wideberth.problem import Problem

#: What users give as error bars, and how it is spread.
FORMS = ("ellipsoid", "box", "lopsided", "covariance", "csr ellipsoid", "csr box")
SPREADS = ("even", "decades", "some zero", "rows zero", "one huge")


def make_arguments(
    seed,
    *,
    n=30,
    d=4,
    form="ellipsoid",
    spread="even",
    size=0.3,
    separation=1.0,
    weights="ones",
    radii="one",
    unit=1.0,
):
    """X, y and what else states a problem, as arguments of `solve`."""
    rng = np.random.default_rng([seed, 23])
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    X = rng.normal(size=(n, d)) + separation * y[:, None] * rng.normal(size=d)
    options = {"error_shape": "box" if form in _BOXES else "ellipsoid"}
    errors = size * rng.uniform(0.2, 1.8, size=(n, d))
    errors = _spread(errors, spread, rng)
    if form.startswith("csr"):
        X[rng.random(X.shape) < 0.5] = 0.0
        errors = sp.csr_array(unit * errors * (rng.random((n, d)) < 0.5))
        X = sp.csr_array(unit * X) if rng.integers(2) else unit * X
    elif form == "lopsided":
        other = _spread(size * rng.uniform(0.0, 1.0, size=(n, d)), spread, rng)
        X, errors = unit * X, (unit * errors, unit * other)
    elif form == "covariance":
        mixed = errors[:, :, None] * rng.normal(size=(n, d, max(d - 1, 1)))
        X, errors = unit * X, unit**2 * mixed @ mixed.transpose(0, 2, 1)
    else:
        X, errors = unit * X, unit * errors
    options["X_err"] = errors
    if weights == "random":
        options["sample_weight"] = rng.exponential(size=n)
    if weights == "some zero":
        options["sample_weight"] = rng.integers(0, 3, size=n).astype(float)
        options["sample_weight"][:2] = 1.0
    options["radius"] = 1.0
    if radii == "random":
        options["radius"] = rng.uniform(0.0, 2.0, size=n)
    if radii == "some zero":
        options["radius"] = rng.integers(0, 3, size=n).astype(float)
    return X, y, options


_BOXES = ("box", "lopsided", "csr box")


def _spread(errors, spread, rng):
    n, d = errors.shape
    if spread == "decades":
        return errors * 10 ** rng.uniform(-6, 1, size=(n, d))
    if spread == "some zero":
        return errors * (rng.random((n, d)) < 0.5)
    if spread == "rows zero":
        return errors * (rng.random((n, 1)) < 0.5)
    if spread == "one huge":
        errors[rng.integers(n), rng.integers(d)] *= 1e6
    return errors


def make_measured(seed, *, C=1.0, intercept=None, **how):
    """The same as a problem."""
    X, y, options = make_arguments(seed, **how)
    return Problem.from_data(X, y, C=C, intercept=intercept, **options)


def random_measured(seed, rng):
    """One of them, drawn in all respects but the seed's turn of forms."""
    unit = float(rng.choice([1.0, 1e-3, 1e3]))
    return make_measured(
        seed,
        n=int(rng.integers(4, 30)),
        d=int(rng.integers(1, 7)),
        form=FORMS[seed % len(FORMS)],
        intercept=(None, 1.0, 0.0, 1e-4, 1e4)[seed // len(FORMS) % 5],
        spread=str(rng.choice(SPREADS)),
        size=float(rng.choice([0.01, 0.1, 0.3, 1.0, 3.0])),
        separation=float(rng.choice([0.0, 0.5, 1.0, 3.0])),
        weights=str(rng.choice(["ones", "random", "some zero"])),
        radii=str(rng.choice(["one", "random", "some zero"])),
        unit=unit,
        C=10.0 ** rng.uniform(-3, 3) / unit**2,
    )
