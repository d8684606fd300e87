"""Verdicts as plain tables: every row, the doubtful ones, and what to measure again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wideberth.estimators.verdict import Verdict

#: Number of rows that are listed as the most doubtful.
_LISTED = 25


def verdict_columns(verdict: Verdict, features: Sequence[str]) -> dict[str, list]:
    """What is said of every row beside its class, by heading."""
    return {
        "margin": verdict.margin.tolist(),
        "spread": verdict.spread.tolist(),
        "chance": verdict.chance.tolist(),
        "verdict": ["certain" if sure else "doubtful" for sure in verdict.certain],
        "runner_up": verdict.runner_up.tolist(),
        "remeasure": [features[j] if j >= 0 else None for j in verdict.remeasure],
        "share": verdict.share.tolist(),
    }


def doubts(
    verdict: Verdict, X: np.ndarray, y: np.ndarray, numbers: np.ndarray, features
) -> dict:
    """How many rows are doubtful, which most so, and which cells make them so.

    `numbers` are those of the rows in the file, from 0. A cell without a value is a
    gap: to be measured at all, not again.
    """
    doubtful = np.flatnonzero(~verdict.certain)
    order = doubtful[np.argsort(-verdict.chance[doubtful], kind="stable")]
    said = verdict_columns(verdict, features)
    cells = verdict.remeasure[doubtful]
    again = []
    for j in np.unique(cells[cells >= 0]):
        rows = doubtful[cells == j]
        again.append(
            {
                "feature": features[j],
                "rows": len(rows),
                "gaps": int(np.isnan(X[rows, j]).sum()),
                "share": float(verdict.share[rows].mean()),
            }
        )
    return {
        "confidence": verdict.confidence,
        "certain": int(verdict.certain.sum()),
        "doubtful": len(doubtful),
        "most_doubtful": [
            {
                "row": int(numbers[k]) + 1,
                "class": str(y[k]),
                "prediction": str(verdict.label[k]),
                **{
                    name: str(own[k]) if name == "runner_up" else own[k]
                    for name, own in said.items()
                },
            }
            for k in order[:_LISTED].tolist()
        ],
        "remeasure": sorted(again, key=lambda one: -one["rows"]),
    }
