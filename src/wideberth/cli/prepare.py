"""From a table to rows a model can be trained on or applied to.

Nothing is left out in silence: every row and value that is not used is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from wideberth.cli.errors import UserError, listed, quoted
from wideberth.cli.labels import as_labels, names_rows
from wideberth.data import Table
from wideberth.data.table import check_names

__all__ = ["Columns", "Rows", "extremes", "incomplete", "moments", "training_rows"]


@dataclass(frozen=True)
class Columns:
    """How features are made from columns: numbers first, then one 0/1 per category."""

    numeric: tuple[str, ...]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def found_in(cls, table: Table, one_hot: Iterable[str]) -> Columns:
        """Take the categories that occur in a table."""
        categories = {}
        for name in one_hot:
            levels = sorted({text for text in table.texts[name] if text is not None})
            if not levels:
                raise _without_values(name)
            if names_rows(len(levels), table.n):
                raise UserError(
                    f"column {quoted(name)} holds {len(levels)} different values in "
                    f"{table.n} rows; it names rows rather than categories. Leave it "
                    f"out with --drop {name}."
                )
            categories[name] = tuple(levels)
        columns = cls(table.names, categories)
        check_names(columns.features, "with --one-hot it", ())
        return columns

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        levels = (f"{name}={v}" for name, vs in self.categories.items() for v in vs)
        return (*self.numeric, *levels)

    @property
    def n_indicators(self) -> int:
        """Features that are 0 or 1 for a category; they carry no noise."""
        return sum(map(len, self.categories.values()))

    def encode(self, table: Table) -> tuple[np.ndarray | sp.csr_array, np.ndarray]:
        """Features of every row, and which rows have a category unknown to the model.

        A missing category is all zeros.
        """
        unknown = np.zeros(table.n, dtype=bool)
        blocks = [table.X]
        for name, levels in self.categories.items():
            at = {level: k for k, level in enumerate(levels)}
            numbers = np.array([at.get(text, -1) for text in table.texts[name]])
            unknown |= (numbers < 0) & ~_lacking(table, name)
            blocks.append((numbers[:, None] == np.arange(len(levels))).astype(float))
        if len(blocks) == 1:
            return table.X, unknown
        if sp.issparse(table.X):
            return sp.csr_array(sp.hstack(blocks)), unknown
        return np.hstack(blocks), unknown


@dataclass
class Rows:
    """Labelled rows ready for training, and what became of the others."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    columns: Columns
    kept: np.ndarray  # their numbers in the table
    facts: dict


def training_rows(
    table: Table,
    target: str,
    one_hot: Iterable[str],
    missing: str,
    aside: Iterable[str],
) -> Rows:
    """Leave out rows without a label, and deal with missing values as asked.

    `missing` is "drop", "median" (numbers stay missing here; the model fills them in)
    or "error"; `aside` are columns, radii for example, that every row must have.
    """
    columns = Columns.found_in(table, one_hot)
    labelled = ~_lacking(table, target)
    if not labelled.any():
        raise UserError(f"the target column {quoted(target)} is empty in every row.")
    holes = _feature_holes(table, columns)
    if missing == "error" and holes:
        _refuse_missing(table, holes)
    for name, hole in holes.items():
        if hole[labelled].all():
            raise _without_values(name)
    needed = _holes(table, aside)
    keep = labelled & ~_any(table, needed | (holes if missing == "drop" else {}))
    if not keep.any():
        raise UserError(
            f"no row is complete: values are missing in {listed(holes | needed)}; fill "
            "them in with --missing median, or leave such columns out with --drop."
        )
    kept = np.flatnonzero(keep)
    filled = sum(int(hole[keep].sum()) for hole in holes.values())
    facts = {
        "rows_read": table.n,
        "rows_without_label": int((~labelled).sum()),
        "rows_dropped": int((labelled & ~keep).sum()),
        "rows_used": len(kept),
        "missing_values": {n: int(h.sum()) for n, h in (holes | needed).items()},
        "values_filled_in": filled if missing == "median" else 0,
    }
    X, _ = columns.encode(table)
    y = as_labels(table.texts[target][kept], target)
    return Rows(X if keep.all() else X[kept], y, columns, kept, facts)


def _lacking(table: Table, name: str) -> np.ndarray:
    """Which rows have no value in a column that is no feature, or one of text."""
    if name in table.numbers:
        return np.isnan(table.numbers[name])
    return np.array([text is None for text in table.texts[name]])


def _holes(table: Table, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Where such columns lack values, for those that do."""
    holes = {name: _lacking(table, name) for name in names}
    return {name: hole for name, hole in holes.items() if hole.any()}


def _feature_holes(table: Table, columns: Columns) -> dict[str, np.ndarray]:
    """Where values of features are missing, for the columns in which some are."""
    holes = {}
    if not sp.issparse(table.X):  # in sparse data what is not stored is zero
        with np.errstate(all="ignore"):  # a sum costs no array of the size of the data
            suspects = np.flatnonzero(np.isnan(table.X.sum(axis=0)))
        holes = {columns.numeric[j]: np.isnan(table.X[:, j]) for j in suspects}
    found = {name: hole for name, hole in holes.items() if hole.any()}
    return found | _holes(table, columns.categories)


def _any(table: Table, holes: dict[str, np.ndarray]) -> np.ndarray:
    return np.any([np.zeros(table.n, dtype=bool), *holes.values()], axis=0)


def incomplete(table: Table, columns: Columns) -> np.ndarray:
    """Which rows lack a value that the features need."""
    return _any(table, _feature_holes(table, columns))


def _without_values(name: str) -> UserError:
    about = f"column {quoted(name)} has no value in any row"
    return UserError(f"{about}; leave it out with --drop {name}.")


def _refuse_missing(table: Table, holes: dict[str, np.ndarray]) -> None:
    row, name = min((int(np.argmax(hole)), name) for name, hole in holes.items())
    raise UserError(
        f"{table.where(row)}, column {quoted(name)} has no value; --missing drop "
        "leaves such rows out, --missing median fills them in."
    )


def extremes(X) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of every feature, of the values there are."""
    if sp.issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return np.nanmin(X, axis=0), np.nanmax(X, axis=0)


def moments(X) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every feature, over the values there are."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        square = np.asarray((X * X).mean(axis=0)).ravel()
        return mean, np.sqrt(np.maximum(square - mean**2, 0))
    return np.nanmean(X, axis=0), np.nanstd(X, axis=0)
