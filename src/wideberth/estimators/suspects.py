"""Samples whose label a model disbelieves: left out by the ramp, on the wrong side.

How far on the wrong side is told in two units: that of the noise shape, as
`certified_radius` has it, or of a sample's own errors; and its own radius, beyond which
noise cannot explain it.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import _safe_indexing

from wideberth.certify import decision_values, every_class, label_distances
from wideberth.problem.arrays import host
from wideberth.results import Solution


def suspects(model, data, solutions: list[Solution]) -> np.ndarray:
    """Training samples that a fitted model disbelieves, the most doubtful first."""
    left_out = np.zeros(len(data.y), dtype=bool)
    for solution in solutions:
        left_out |= host(solution.descent.left_out)  # type: ignore[union-attr]
    rows = np.flatnonzero(left_out & np.isin(data.y, model.classes_))
    X = _safe_indexing(data.X, rows)
    values = host(decision_values(X, model.coef_, model.intercept_))
    labels = np.searchsorted(model.classes_, data.y[rows])
    noise = model.noise_ if data.bars is None else data.bars.take(rows)
    distance, predicted = label_distances(values, labels, model.coef_, noise)
    radii = np.broadcast_to(data.radii, len(data.y))[rows]
    kind = model.classes_.dtype
    found = np.empty(
        rows.size,
        [
            ("sample", np.intp),
            ("label", kind),
            ("predicted", kind),
            ("distance", np.float64),
            ("noises", np.float64),
        ],
    )
    found["sample"], found["label"] = rows, data.y[rows]
    found["predicted"], found["distance"] = model.classes_[predicted], distance
    with np.errstate(divide="ignore", invalid="ignore"):
        found["noises"] = distance / radii
    _, coef = every_class(values, model.coef_)
    # Those predicted otherwise; but w = 0 disbelieves nobody.
    found = found[np.any(coef[predicted] != coef[labels], axis=1)]
    return found[np.argsort(-found["distance"], kind="stable")]
