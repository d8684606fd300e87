"""Random problems with wrong labels, R by its definition, and its global minimum."""

from __future__ import annotations

import numpy as np

from wideberth import solve

SHAPES = ("l2", "linf", "l1", "scales", "correlated", "cells", "boxes")


def wrong_labels(seed, n=40, d=4, share=0.2, separation=1.5):
    """Two clouds, some of whose labels are flipped; and which."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.normal(size=(n, d))
    X[:, 0] += separation * y
    flipped = rng.choice(n, int(share * n), replace=False)
    y[flipped] *= -1
    y[:2] = 1, -1
    return X, y, flipped


def random_options(seed, n, d) -> dict:
    """What `solve` takes beside X and y, drawn at random: all that there is."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    options = {"C": 10.0 ** rng.uniform(-2, 1), "ramp": -float(rng.exponential())}
    options["fit_intercept"] = bool(rng.integers(2))
    if options["fit_intercept"] and rng.random() < 0.5:
        options["intercept_penalty"] = 1.0
    if rng.random() < 0.3:
        options["sample_weight"] = rng.random(n)
    if shape in ("cells", "boxes"):
        options["X_err"] = 0.2 * rng.random((n, d))
        options["error_shape"] = "box" if shape == "boxes" else "ellipsoid"
    else:
        options["radius"] = 0.2 * rng.random(n) if rng.random() < 0.5 else 0.1
        options["noise"] = shape
        if shape == "scales":
            options["noise"] = rng.random(d)
        elif shape == "correlated":
            options["noise"] = np.cov(rng.normal(size=(d, 3 * d)))
        if rng.random() < 0.3:
            options["norm_penalty"] = 0.1 * options["C"]
    options["starts"] = int(rng.integers(1, 4))
    return options


def objective(X, y, w, b, options: dict) -> float:
    """R by its definition, for what `random_options` draws."""
    n = len(y)
    noise, radius = options.get("noise", "l2"), options.get("radius", 0.0)
    norms = {"l2": np.linalg.norm(w), "linf": np.abs(w).sum(), "l1": np.abs(w).max()}
    if "X_err" in options:
        moved = options["X_err"] * np.abs(w)
        box = options["error_shape"] == "box"
        size = 0.0
        spread = moved.sum(axis=1) if box else np.linalg.norm(moved, axis=1)
    else:
        if isinstance(noise, str):
            size = norms[noise]
        elif noise.ndim == 1:
            size = np.linalg.norm(noise * w)
        else:
            size = np.sqrt(w @ noise @ w)
        spread = radius * size
    psi = y * (X @ w + b) - spread
    weights = options["C"] * np.broadcast_to(options.get("sample_weight", 1.0), n)
    loss = np.clip(1 - psi, 0.0, 1 - options["ramp"])
    value = 0.5 * w @ w + 0.5 * options.get("intercept_penalty", 0.0) * b * b
    return value + options.get("norm_penalty", 0.0) * size + weights @ loss


def exhaustive_minimum(X, y, options: dict) -> float:
    """The least R, as the least of M_K over all K: 2ⁿ convex problems."""
    n, C = len(y), options["C"]
    weights = np.broadcast_to(options.get("sample_weight", 1.0), n)
    convex = {key: options[key] for key in options if key not in ("ramp", "starts")}
    least = np.inf
    for number in range(2**n):
        out = (number >> np.arange(n)) & 1 == 1
        cost = C * (1 - options["ramp"]) * weights[out].sum()
        if cost >= least:
            continue
        if out.all():
            least = cost
            continue
        convex["sample_weight"] = np.where(out, 0.0, weights)
        found = solve(X, y, **convex, screening=None, tol=1e-6, quiet=True)
        least = min(least, found.dual + cost)
    return least


def judged(seed, n=40, d=4) -> dict[str, bool | float]:
    """What is true of the ramp on one random problem; see `tests/campaigns/ramp.py`."""
    X, y, _ = wrong_labels(seed, n, d)
    options = random_options(seed, n, d)
    tol = 1e-6
    found = solve(X, y, **options, tol=tol, random_state=0, quiet=True)
    descent, values = found.descent, np.array(found.descent.objectives)
    w, b, out = found.w, found.b, descent.left_out
    again = objective(X, y, w, b, options)
    weights = options["C"] * np.broadcast_to(options.get("sample_weight", 1.0), n)
    convex = {key: options[key] for key in options if key not in ("ramp", "starts")}
    kept = np.where(out, 0.0, weights / options["C"])
    cost = (1 - options["ramp"]) * weights[out].sum()
    same = solve(X, y, **convex | {"sample_weight": kept}, tol=1e-9, quiet=True)
    scale = max(abs(found.primal), 1e-300)
    near = tol + 1e-8
    return {
        "monotone": bool(np.all(np.diff(values) <= 1e-12 * values[:-1])),
        "finite": bool(np.isfinite(values).all()),
        "traced": min(e["primal"] for e in found.trace) >= values[-1] * (1 - 1e-9),
        "objective": abs(again - values[-1]) <= 1e-9 * scale,
        "majorant": values[-1] <= found.primal + 1e-9 * scale,
        "certificate": found.dual <= same.primal + cost + 1e-9 * scale
        and same.dual + cost <= found.primal + 1e-9 * scale,
        "converged": found.converged and found.relative_gap <= near,
        "ended": descent.ending != "cut short",
        "fixed": descent.ending != "repeats"
        or abs(found.primal - values[-1]) <= 1e-9 * scale,
    }
