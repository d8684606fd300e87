"""What `predict` and `certify` share: a model applied to the rows of a table."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from wideberth.cli.model import Model
from wideberth.cli.options import format_of
from wideberth.cli.prepare import incomplete
from wideberth.cli.progress import Progress
from wideberth.data import Request, Table, open_table

__all__ = ["Applied", "apply_model"]


@dataclass
class Applied:
    """Rows of a table as a model sees them."""

    model: Model
    table: Table
    X: np.ndarray | sp.csr_array
    usable: np.ndarray  # the others lack a value, or have a category unknown to it
    ids: list
    id_name: str


def apply_model(
    model: Model,
    options: Namespace,
    progress: Progress,
    target: str | None = None,
    radius_column: str | None = None,
) -> Applied:
    """Read the columns that a model needs by name, and find the usable rows.

    Target and radii may be absent where they have the names they had in training.
    """
    aside = [name for name in (options.id, target) if name is not None]
    request = Request(
        texts=(*aside, *model.columns.categories),
        numbers=() if radius_column is None else (radius_column,),
        features=model.columns.numeric,
        optional=frozenset([model.target, model.radius_column or model.target]),
    )
    progress.show(f"reading {options.data}")
    table, source = open_table(options.data, request, format_of(options))
    X, unknown = model.columns.encode(table)
    usable = ~unknown
    fills_in = any(name == "simpleimputer" for name, _ in model.pipeline.steps)
    if not fills_in:
        usable &= ~incomplete(table, model.columns)
    _tell(table, usable, unknown, source.name)
    ids: list = list(range(1, table.n + 1))
    if options.id is not None:
        ids = table.texts[options.id].tolist()
    return Applied(model, table, X, usable, ids, options.id or "row")


def _tell(table: Table, usable: np.ndarray, unknown: np.ndarray, where: str) -> None:
    """Say on standard error which rows get no answer."""
    reasons = {
        "lack a value": ~usable & ~unknown,
        "are of a category unknown to the model": unknown,
    }
    for why, rows in reasons.items():
        numbers = np.flatnonzero(rows)
        if numbers.size:
            first = ", ".join(str(k + 1) for k in numbers[:5])
            more = ", …" if numbers.size > 5 else ""
            print(
                f"wideberth: {where}: {numbers.size} of {table.n} rows {why} and get "
                f"no answer (rows {first}{more}).",
                file=sys.stderr,
            )
