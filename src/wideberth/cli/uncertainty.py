"""How far rows may be off: a number, a column, scales, replicates, or error bars."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import stats

from wideberth.cli.errors import FileError, UserError
from wideberth.cli.measured import ErrorColumns, tell_columns, training_cells
from wideberth.cli.options import TrainingOptions
from wideberth.cli.prepare import Columns, PreparedRows, moments
from wideberth.data import Format, Request, open_table
from wideberth.data.delimited import Numbers, looks_like_number
from wideberth.data.errors import agree, listed, quoted
from wideberth.data.table import Table
from wideberth.measurement.radius import noise_from_replicates, radius_from_std
from wideberth.noise import ErrorBars
from wideberth.noise.shapes import Box, CrossPolytope, Shape
from wideberth.problem.validation import radius_or_default

#: What noise with a scale for each feature is, by its shape.
_SCALED: dict[str, Any] = {"l2": np.asarray, "linf": Box, "l1": CrossPolytope}
#: What is said of it.
_TOGETHER = {
    "l2": "",
    "linf": ", which all features may reach at once",
    "l1": ", which all features share",
}
#: What a radius means, by the shape of the noise.
_ABOUT = {
    "l2": "the Euclidean distance in the units of the data",
    "linf": "by which every feature may be off, in the units of the data",
    "l1": "the sum of absolute errors, in the units of the data",
}
#: How surely a radius covers the noise, where one is asked for that does.
_CONFIDENCE = 0.95
#: Largest probability that chance alone makes replicates differ in precision as they
#: do, at which the report says that they differ; one false alarm in a thousand tables.
_CHANCE = 1e-3


@dataclass
class Uncertainty:
    """Radii in units of `noise`: one for all rows or one each; how they were found.

    The radius is None where rows that are read in pieces bring their own.
    """

    radius: Any
    noise: str | np.ndarray | Shape
    story: str
    facts: dict = field(default_factory=dict)
    unit_radius: bool = False  # 1, for factors to be radii
    factors: tuple[float, ...] = (1.0,)  # on the radius, to choose from
    bars: ErrorBars | None = None  # sets that the radii are multiples of
    errors: ErrorColumns | None = None  # where they are from
    cells: np.ndarray | None = None  # standard errors, where a population is learned
    n_indicators: int = 0  # features at the end that are categories, and exact

    @property
    def per_row(self) -> bool:
        """Whether rows have radii of their own."""
        return self.radius is None or np.ndim(self.radius) > 0

    @property
    def median(self) -> float | None:
        """The radius that half of the rows stay below; unknown of rows in pieces."""
        return None if self.radius is None else float(np.median(self.radius))

    def chosen(self, choice: dict | None) -> Uncertainty:
        """The radii that cross-validation chose, and how."""
        if choice is None:
            return self
        factor, story = choice["factor"], self.story
        how = ""
        if len(choice["factors"]) > 1:
            tried = ", ".join(f"{factor:g}" for factor in choice["factors"])
            how = f"chosen from {tried} by cross-validation"
        if self.unit_radius:
            story = f"{factor:g} for every row, {f'{how}, ' if how else ''}{story}"
        elif how:
            story = f"{factor:g} times ({how}) this radius: {story}"
        return replace(self, radius=factor * self.radius, story=story)


def of_rows(
    options: TrainingOptions, table: Table, rows: PreparedRows
) -> tuple[PreparedRows, Uncertainty]:
    """Rows that were measured once, and their radius and noise shape."""
    given = of_columns(options, rows.columns, rows.X)
    if options.radius_column is not None:
        given.radius = row_radii(table, options.radius_column)[rows.kept]
    return rows, given


def of_columns(options: TrainingOptions, columns: Columns, X=None) -> Uncertainty:
    """The noise shape, and the radius of all rows unless a column holds theirs.

    The rows X are asked for where a radius counts standard deviations.
    """
    noise, about = _shape(options, columns, X)
    scales, values = options.noise.scales, options.radius.values
    default = radius_or_default(None, options.noise.shape if scales is None else noise)
    radius, unit, factors = one_radius(options, default)
    story = about if unit else _tell_radius(options, radius, about)
    covering = options.confidence is not None and isinstance(noise, np.ndarray)
    if scales is not None and covering and not (values or options.radius_column):
        sure = options.confidence
        radius = float(radius_from_std(1.0, len(noise), confidence=sure, noise=noise))
        story = f"{radius:.4g} for every row ({_promise(options)}), {about}"
    made = Uncertainty(radius, noise, story, {}, unit, factors)
    return replace(made, n_indicators=columns.n_indicators)


def one_radius(
    options: TrainingOptions, default: float
) -> tuple[float, bool, tuple[float, ...]]:
    """The radius of all rows, whether it is the unit of others, and the factors on it.

    Radii to choose from are factors on 1. Where rows have radii of their own, those
    that are given are factors on them.
    """
    values = options.radius.values
    if options.radius_column is not None or options.replicates is not None:
        return 1.0, False, values or (1.0,)
    if len(values) > 1 or getattr(options, "score_radius", None) is not None:
        return 1.0, True, values or (default,)
    return (values or (default,))[0], False, (1.0,)


def measured(
    options: TrainingOptions, errors: ErrorColumns, table: Table, rows: PreparedRows
) -> tuple[PreparedRows, Uncertainty]:
    """Rows whose values have errors of their own, which radii are multiples of."""
    errors, cells, facts = training_cells(errors, table, rows, options)
    given = in_errors(options, errors, facts)
    given.n_indicators = rows.columns.n_indicators
    given.bars = errors.sets(cells, rows.X)
    if options.radius_column is not None:
        given.radius = row_radii(table, options.radius_column)[rows.kept]
    return rows, given


def in_errors(
    options: TrainingOptions, errors: ErrorColumns, facts: dict
) -> Uncertainty:
    """Radii that count errors of the values; features without any are `exact`."""
    one = "tolerance" if errors.shape == "box" else "standard error"
    where, exact = tell_columns(errors, facts["exact"])
    default = radius_or_default(None, "l2", errors)
    radius, unit, factors = one_radius(options, default)
    times = "in units of" if unit else f"{radius:g} times"
    if options.radius_column is not None:
        times = f"the column {options.radius_column} times"
    story = f"{times} the {one} of each value, in {where}{exact}"
    facts = facts | {"unit": f"in {one}s", "shape": errors.shape}
    return Uncertainty(radius, "l2", story, facts, unit, factors, errors=errors)


def _tell_radius(options: TrainingOptions, radius: float, about: str) -> str:
    """Say in words which radii the options give: a column, a number, or none."""
    if options.radius_column is not None:
        return f"each row has its own, in the column {options.radius_column}, {about}"
    if options.radius.values or radius:
        return f"{radius:g} for every row, {about}"
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


def _covering_radius(options: TrainingOptions, noise: np.ndarray) -> float:
    """The radius that covers the change of a row's score as surely as is asked for."""
    confidence = options.confidence or _CONFIDENCE
    return float(radius_from_std(1.0, len(noise), noise=noise, confidence=confidence))


def _promise(options: TrainingOptions) -> str:
    share = f"{100 * (options.confidence or _CONFIDENCE):g} % of cases"
    return f"it covers the change of a row's score in {share}"


def _shape(
    options: TrainingOptions, columns: Columns, X
) -> tuple[str | np.ndarray | Shape, str]:
    """The noise shape, and what a radius means in words."""
    about, together = _ABOUT[options.noise.shape], _TOGETHER[options.noise.shape]
    if options.noise.scales is not None:
        scales = _read_scales(options.noise.scales, columns)
        called = "tolerances" if options.noise.shape == "linf" else "noise scales"
        about = f"in units of the {called} in {options.noise.scales}{together}"
    elif options.radius.std:
        scales = np.sqrt(moments(X)[1])
        scales[len(columns.numeric) :] = 0
        about = f"in standard deviations of each feature{together}"
    elif columns.n_indicators:  # categories are exact
        scales = np.repeat([1.0, 0.0], [len(columns.numeric), columns.n_indicators])
    else:
        return options.noise.shape, about
    return _SCALED[options.noise.shape](scales), about


def _read_scales(path: str, columns: Columns) -> np.ndarray:
    """Noise scales by feature name, or one per line in the order of the columns.

    Categories are exact unless the file says otherwise.
    """
    import pyarrow as pa

    request = Request(texts=("1", "2"), features=(), optional=frozenset("2"))
    table, source = open_table(path, request, Format("csv", header=False))
    named, column = "2" in table.texts, table.texts.get("2", table.texts["1"])
    first = int(not looks_like_number(column[0] or ""))  # a header
    cells = ["" if cell is None else cell for cell in column[first:]]
    assert table.find_lines is not None
    numbers = Numbers(Format(), table.find_lines)
    scales = numbers.read("scale", pa.array(cells, pa.binary()), first)
    numbers.finish(source.name)
    bad = np.flatnonzero(~(scales >= 0))
    if bad.size:
        row = table.where(int(bad[0]) + first)
        raise FileError(
            f"{source.name}, {row}: {quoted(cells[bad[0]])} is not a noise scale; it "
            "must be a number ≥ 0."
        )
    names = list(map(str, table.texts["1"][first:])) if named else columns.numeric
    if len(scales) != len(names):
        raise FileError(
            f"{source.name} holds {len(scales)} scales for {len(names)} features; give "
            "one for each, or a table of name and scale."
        )
    given = dict(zip(names, scales, strict=True))
    if strange := given.keys() - {*columns.features, *columns.categories}:
        raise FileError(
            f"{source.name} names {listed(n for n in given if n in strange)}, which "
            f"{agree(len(strange), 'is no feature', 'are no features')}; the features "
            f"are {listed(columns.features, 12)}."
        )
    if absent := [name for name in columns.numeric if name not in given]:
        raise FileError(
            f"{source.name} has no scale for {listed(absent)}; write 0 for a feature "
            "without noise."
        )
    return np.array([given.get(name, 0.0) for name in columns.features])


def averaged(
    options: TrainingOptions, table: Table, rows: PreparedRows
) -> tuple[PreparedRows, Uncertainty]:
    """Means of the replicates, noise scales pooled over them, and radii."""
    column = str(options.replicates)
    ids = table.texts[column][rows.kept]
    found: dict[str, list[int]] = {}
    for k, name in enumerate(ids):
        found.setdefault(name, []).append(k)
    groups = list(found.values())
    for members in groups:
        if len(set(rows.y[members].tolist())) > 1:
            raise UserError(
                f"{table.where(int(rows.kept[members[0]]))}: measurements of "
                f"{quoted(ids[members[0]])} in column {quoted(column)} have different "
                "classes; replicates are of one sample."
            )
    X = rows.X.toarray() if sp.issparse(rows.X) else rows.X
    readings = [X[members] for members in groups]
    repeated = [group for group in readings if len(group) > 1]
    if not repeated:
        raise UserError(
            f"no value occurs twice in column {quoted(column)}; replicates need at "
            "least one sample that was measured twice."
        )
    scales, radius = noise_from_replicates(readings, options.confidence or _CONFIDENCE)
    scales[len(rows.columns.numeric) :] = 0
    if not scales.any():
        raise UserError("all replicates agree exactly; there is no noise to learn.")
    facts = {
        "samples": len(groups),
        "samples_measured_once": len(readings) - len(repeated),
        "readings": len(ids),
        "noise_scales": dict(zip(rows.columns.features, scales.tolist(), strict=True)),
        "precision_differs": _precision_differs(repeated, scales),
    }
    story = (
        f"from {len(ids)} measurements of {len(groups)} samples, between their mean "
        f"and a further single reading ({_promise(options)}), in units of the noise "
        "found in each feature"
    )
    first = np.array([members[0] for members in groups])
    means = np.array([group.mean(axis=0) for group in readings])
    samples = replace(rows, X=means, y=rows.y[first], kept=rows.kept[first])
    if rows.weights is not None:
        samples.weights = np.array([rows.weights[m].mean() for m in groups])
    factors = one_radius(options, 1.0)[2]
    given = Uncertainty(radius, scales, story, facts, factors=factors)
    return samples, replace(given, n_indicators=rows.columns.n_indicators)


def _precision_differs(repeated: list[np.ndarray], scales: np.ndarray) -> bool:
    """Whether readings of some samples spread more than chance explains.

    Bartlett's test that all samples share one variance, in units of the scales.
    """
    if len(repeated) < 2:
        return False
    used = scales > 0
    units = [group[:, used] / scales[used] for group in repeated]
    freedom = np.array([used.sum() * (len(group) - 1.0) for group in units])
    squares = np.array([np.sum((group - group.mean(axis=0)) ** 2) for group in units])
    total = freedom.sum()
    with np.errstate(divide="ignore"):  # readings that agree exactly
        logs = freedom @ np.log(squares / freedom)
    statistic = total * np.log(squares.sum() / total) - logs
    correction = 1 + (np.sum(1 / freedom) - 1 / total) / (3 * (len(repeated) - 1))
    return bool(stats.chi2.sf(statistic / correction, len(repeated) - 1) < _CHANCE)
