"""Rows that are right by a hair: the least noise that flips them, and where it enters.

A move δ of row x from class p to class k changes f_k − f_p by ⟨w_k − w_p, δ⟩. Of the
worst move of a given size (`worst_case`) feature j has the share
(w_k − w_p)_j δ_j / ⟨w_k − w_p, δ⟩: what measuring it more precisely would save.
"""

from __future__ import annotations

import numpy as np

from wideberth import certify
from wideberth.cli.prepare import PreparedRows
from wideberth.cli.training import certain
from wideberth.estimators.pipeline import RobustPipeline

#: Number of rows that are listed as the most easily flipped.
_LISTED = 15
#: Number of features that are listed as those to measure more precisely.
_FEATURES = 10
#: Number of rows, the most easily flipped first, that shares of features are means of.
_AVERAGED = 200


def easily_flipped(
    model: RobustPipeline, rows: PreparedRows, right, reach: np.ndarray, radius, bars
) -> dict:
    """Those `right` with the least certified radii `reach`, and what to measure again.

    `flippable` counts right rows that noise of their radius can flip. The features are
    those through which the worst noise enters, in the mean over these rows.
    """
    X, y = rows.X, rows.y
    finite = np.flatnonzero(right & np.isfinite(reach))
    order = finite[np.argsort(reach[finite], kind="stable")]
    safe = certain(right, reach, radius)
    flippable = int(np.sum(right & ~safe))
    first = order[: max(_LISTED, min(flippable, _AVERAGED))]
    told: dict = {"right": int(right.sum()), "flippable": flippable}
    if not len(first):
        return told | {"rows": [], "features": []}
    own = None if bars is None else bars.take(first)
    rivals, shares = _entries(model, X[first], y[first], reach[first], own)
    names, radii = rows.columns.features, np.broadcast_to(radius, len(y))
    lines = []
    for i, rival, share in zip(first[:_LISTED], rivals, shares, strict=False):
        j = int(share.argmax())
        lines.append(
            {
                "row": int(rows.kept[i]) + 1,
                "id": None if rows.names is None else rows.names[i],
                "class": str(y[i]),
                "rival": str(rival),
                "radius": float(reach[i]),
                "noises": float(reach[i] / radii[i]) if radii[i] > 0 else None,
                "feature": names[j],
                "share": float(share[j]),
            }
        )
    noisy = shares[:flippable]
    mean = noisy.mean(axis=0) if len(noisy) else np.zeros(len(names))
    features = [
        {"feature": names[j], "share": float(mean[j])}
        for j in np.argsort(-mean, kind="stable")[:_FEATURES]
        if mean[j] > 0
    ]
    return told | {"rows": lines, "features": features}


def _entries(
    model: RobustPipeline, X, y: np.ndarray, reach: np.ndarray, bars
) -> tuple[np.ndarray, np.ndarray]:
    """The class that each row flips to, and the share of every feature in that."""
    judged, classes = model._judge(X, bars), model[-1].classes_
    given, sizes = np.searchsorted(classes, y), np.where(reach > 0, reach, 1.0)
    asked = judged.values, given, judged.coef, sizes, judged.noise
    rival, moves = certify.rivals(*asked), certify.worst_case(*asked)
    _, coef = certify.every_class(judged.values, judged.coef)
    pull = (coef[rival] - coef[given]) * moves
    return classes[rival], pull / pull.sum(axis=1, keepdims=True)
