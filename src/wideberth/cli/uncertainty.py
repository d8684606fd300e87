"""How far rows may be off: from a number, a column, scales in a file, or replicates."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy import stats

from wideberth.cli.errors import UserError, listed, quoted
from wideberth.cli.prepare import Columns, Rows, moments
from wideberth.data import Format, Request, Table, open_table
from wideberth.data.numbers import Numbers, looks_like_number
from wideberth.measurement.radius import (
    radius_from_replicates,
    radius_from_std,
    scales_from_replicates,
)

__all__ = [
    "Uncertainty",
    "average_replicates",
    "find_uncertainty",
    "row_radii",
    "tell_radius",
]

#: What a radius means, by the shape of the noise.
_ABOUT = {
    "l2": "the Euclidean distance in the units of the data",
    "linf": "by which every feature may be off, in the units of the data",
    "l1": "the sum of absolute errors, in the units of the data",
}
#: How sure to be that replicates differ in precision before saying so.
_SURE = 1e-3


@dataclass
class Uncertainty:
    """Radii in units of `noise`: one for all rows or one each; how they were found."""

    radius: float | np.ndarray
    noise: str | np.ndarray
    story: str
    facts: dict
    unit_radius: bool = False  # 1, for radii to be multiples of

    @property
    def per_row(self) -> bool:
        """Whether rows have radii of their own."""
        return np.ndim(self.radius) > 0

    def median(self) -> float:
        """The radius that half of the rows stay below, for figures and descriptions."""
        return float(np.median(self.radius))

    def of(self, rows) -> float | np.ndarray:
        """The radius of some rows."""
        return self.radius[rows] if self.per_row else self.radius  # type: ignore[index]


def find_uncertainty(
    options: Namespace, table: Table, rows: Rows
) -> tuple[Rows, Uncertainty]:
    """Radius and noise shape that the options ask for.

    With replicates the rows returned are their means.
    """
    if options.replicates is not None:
        return _from_replicates(options, table, rows)
    noise, about = _shape(options, rows)
    if options.radius_column is not None:
        radius = row_radii(table, options.radius_column)[rows.kept]
        return rows, Uncertainty(radius, noise, tell_radius(options, about), {})
    if options.radius is not None:
        story = tell_radius(options, about)
        return rows, Uncertainty(options.radius, noise, story, {})
    if options.noise_scales is None and options.radii is not None:
        return rows, Uncertainty(1.0, noise, about, {}, unit_radius=True)
    if options.noise_scales is None:
        return rows, Uncertainty(0.0, noise, tell_radius(options, about), {})
    radius = _radius_from_std(options, noise)
    story = f"{radius:.4g} for every row ({_promise(options)}), {about}"
    return rows, Uncertainty(radius, noise, story, {})


def tell_radius(options: Namespace, about: str = _ABOUT["l2"]) -> str:
    """Say in words which radii the options give: a column, a number, or none."""
    if options.radius_column is not None:
        return f"each row has its own, in the column {options.radius_column}, {about}"
    if options.radius is not None:
        return f"{options.radius:g} for every row, {about}"
    return "none was given: the ordinary linear SVM, which trusts every value"


def row_radii(table: Table, column: str) -> np.ndarray:
    """The radius of each row, in a column; NaN where it is missing."""
    radii = table.numbers[column]
    negative = np.flatnonzero(radii < 0)
    if negative.size:
        k = int(negative[0])
        raise UserError(
            f"{table.where(k)}, column {quoted(column)} is {radii[k]:g}; a radius must "
            "not be negative."
        )
    return radii


def _radius_from_std(options: Namespace, noise: np.ndarray | str) -> float:
    return float(
        radius_from_std(
            1.0,
            len(noise),
            noise=noise,
            confidence=options.confidence,
            covers=options.covers,
        )
    )


def _promise(options: Namespace) -> str:
    covered = {
        "margin": "the change of a row's score",
        "sample": "the whole displacement of a row",
    }[options.covers]
    return f"it covers {covered} in {100 * options.confidence:g} % of cases"


def _shape(options: Namespace, rows: Rows) -> tuple[str | np.ndarray, str]:
    """The noise shape, and what it means in words."""
    columns = rows.columns
    n_exact = columns.n_indicators
    if options.noise_scales is not None:
        scales = _read_scales(options.noise_scales, columns)
        return scales, f"in units of the noise scales in {options.noise_scales}"
    if options.radius_units == "std":
        scales = moments(rows.X)[1]
        scales[len(columns.numeric) :] = 0
        return scales, "in standard deviations of each feature"
    if n_exact and options.noise != "l2":
        raise UserError(
            f"--noise {options.noise} cannot leave the columns of --one-hot exact; use "
            "--noise l2 or --noise-scales."
        )
    about = _ABOUT[options.noise]
    if n_exact:
        return np.repeat([1.0, 0.0], [len(columns.numeric), n_exact]), about
    return options.noise, about


def _read_scales(path: str, columns: Columns) -> np.ndarray:
    """Noise scales by feature name, or one per line in the order of the columns.

    Categories are exact unless the file says otherwise.
    """
    request = Request(texts=("1", "2"), features=(), optional=frozenset("2"))
    table, source = open_table(path, request, Format("csv", header=False))
    named, column = "2" in table.texts, table.texts.get("2", table.texts["1"])
    first = int(not looks_like_number(column[0] or ""))  # a header
    cells = ["" if cell is None else cell for cell in column[first:]]
    assert table.lines is not None
    numbers = Numbers(Format())
    scales = numbers.read("scale", cells, first, table.lines[first:])
    numbers.finish(source.name)
    bad = np.flatnonzero(~(scales >= 0))
    if bad.size:
        row = table.where(int(bad[0]) + first)
        raise UserError(
            f"{source.name}, {row}: {quoted(cells[bad[0]])} is not a noise scale; it "
            "must be a number ≥ 0."
        )
    if not named:
        if len(scales) != len(columns.numeric):
            raise UserError(
                f"{source.name} holds {len(scales)} scales for {len(columns.numeric)} "
                "features; give one for each, or a table of name and scale."
            )
        return np.concatenate([scales, np.zeros(columns.n_indicators)])
    names = [str(name) for name in table.texts["1"][first:]]
    given = dict(zip(names, scales, strict=True))
    known = {*columns.features, *columns.categories}
    if strange := [name for name in given if name not in known]:
        raise UserError(
            f"{source.name} names {listed(strange)}, which is no feature; the features "
            f"are {listed(columns.features, 12)}."
        )
    if absent := [name for name in columns.numeric if name not in given]:
        raise UserError(
            f"{source.name} has no scale for {listed(absent)}; write 0 for a feature "
            "without noise."
        )
    return np.array([given.get(name, 0.0) for name in columns.features])


def _from_replicates(
    options: Namespace, table: Table, rows: Rows
) -> tuple[Rows, Uncertainty]:
    """Means of the replicates, noise scales pooled over them, and radii."""
    ids = table.texts[options.replicates][rows.kept]
    groups = _groups(ids)
    for members in groups:
        if len(set(rows.y[members].tolist())) > 1:
            raise UserError(
                f"{table.where(int(rows.kept[members[0]]))}: measurements of "
                f"{quoted(ids[members[0]])} in column {quoted(options.replicates)} "
                "have different classes; replicates are of one sample."
            )
    X = sp.csr_array(rows.X).toarray() if sp.issparse(rows.X) else rows.X
    repeated = [X[members] for members in groups if len(members) > 1]
    if not repeated:
        raise UserError(
            f"no value occurs twice in column {quoted(options.replicates)}; replicates "
            "need at least one sample that was measured twice."
        )
    noisy = len(rows.columns.numeric)
    scales = scales_from_replicates(repeated)
    scales[noisy:] = 0
    if not scales.any():
        raise UserError("all replicates agree exactly; there is no noise to learn.")
    counts = np.array([len(members) for members in groups])
    radius = _replicate_radii(options, X, groups, counts, scales)
    facts = {
        "samples": len(groups),
        "samples_measured_once": int((counts == 1).sum()),
        "readings": len(ids),
        "noise_scales": dict(zip(rows.columns.features, scales.tolist(), strict=True)),
        "precision_differs": _precision_differs(repeated, scales),
    }
    end = {"truth": "the truth", "reading": "a further single reading"}[options.between]
    story = (
        f"from {len(ids)} measurements of {len(groups)} samples, between their mean "
        f"and {end} ({_promise(options)}), in units of the noise found in each feature"
    )
    first = np.array([members[0] for members in groups])
    averaged = Rows(
        average_replicates(X, groups),
        rows.y[first],
        rows.columns,
        rows.kept[first],
        rows.facts,
    )
    return averaged, Uncertainty(radius, scales, story, facts)


def _groups(ids: np.ndarray) -> list[np.ndarray]:
    """Rows that share an id, in the order of their first."""
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(name, len(numbers)) for name in ids])
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group))[:-1])


def average_replicates(X: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """Mean of each group."""
    return np.array([X[members].mean(axis=0) for members in groups])


def _replicate_radii(options, X, groups, counts, scales) -> np.ndarray:
    """One radius per sample, in units of the scales.

    With a shared precision the displacement between the mean of r readings and the
    truth (a reading) has 1/r (1 + 1/r) times the variance of one reading. With its own,
    each sample's spread is measured by its own readings, and the pooled level stands in
    for samples that were measured once.
    """
    factors = 1 / counts + (options.between == "reading")
    radii = _radius_from_std(options, scales) * np.sqrt(factors)
    if options.precision == "own":
        used = scales > 0
        several = np.flatnonzero(counts > 1)
        radii[several] = radius_from_replicates(
            [X[groups[k]][:, used] for k in several],
            confidence=options.confidence,
            covers=options.covers,
            noise=scales[used],
            between=f"mean and {options.between}",
        )
    return radii


def _precision_differs(repeated: list[np.ndarray], scales: np.ndarray) -> bool:
    """Whether readings of some samples spread more than chance explains.

    Bartlett's test that all samples share one variance, in units of the scales.
    """
    if len(repeated) < 2:
        return False
    used = scales > 0
    freedom = np.array([used.sum() * (len(group) - 1.0) for group in repeated])
    squares = np.array(
        [
            np.sum(((group - group.mean(axis=0))[:, used] / scales[used]) ** 2)
            for group in repeated
        ]
    )
    total = freedom.sum()
    with np.errstate(divide="ignore"):  # readings that agree exactly
        logs = freedom @ np.log(squares / freedom)
    statistic = total * np.log(squares.sum() / total) - logs
    correction = 1 + (np.sum(1 / freedom) - 1 / total) / (3 * (len(repeated) - 1))
    return bool(stats.chi2.sf(statistic / correction, len(repeated) - 1) < _SURE)
