"""`wideberth predict`: the class or number of every row; how models meet tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth.cli import output
from wideberth.cli.errors import UserError, blamed_on_data, located
from wideberth.cli.model import Model, open_model
from wideberth.cli.options import ApplyOptions, PredictOptions
from wideberth.cli.prepare import feature_holes
from wideberth.cli.uncertainty import ErrorColumns, errors_to_apply, row_radii
from wideberth.data import Request
from wideberth.data.errors import agree, counted, listed, quoted
from wideberth.data.files import chunk_bytes, explained, parse_bytes
from wideberth.data.opening import open_reader
from wideberth.data.table import AT_ONCE, Reader, Table
from wideberth.noise import ErrorBars

#: The probability of intervals, unless --coverage says another.
_COVERAGE = 0.9
#: How far beyond its range in training a value is far outside, in widths of that range:
#: a choice. Of normal values 100 have a range of 5 standard deviations; then it is 5
#: from the mean.
_BEYOND = 0.5
#: Fraction of the values of a column above which values far outside are remarked upon,
#: so that single outliers are not (a choice).
_MANY = 0.1
#: Most columns with such values that are described.
_DESCRIBED = 5


def run(options: PredictOptions) -> int:
    """Write the table of predictions, with verdicts, ranges or intervals."""
    model, numbers = open_model(options.model), None
    _refuse_other_answers(model, options)
    classes = scored = None
    if model.predicts_numbers:
        numbers = _Ends(model, options)
    else:
        classes = model.classes.tolist()
        scored = classes[1:] if len(classes) == 2 else classes
    summary = {"rows": 0, "predicted": 0, "classes": classes, "certain": None}
    summary |= {"radius": None, "coverage": None}
    with output.Lines(options) as lines:
        column = model.radius_column
        for applied in apply_model(model, options, radius_column=column):
            if numbers is not None:
                numbers.add(applied)
                summary |= {"radius": numbers.radius, "coverage": numbers.coverage}
            if options.scores and scored is not None:
                said = applied.answers(model.fitted.decision_function, len(scored))
                headings = (f"score {label}" for label in scored)
                applied.add_columns(dict(zip(headings, said, strict=True)))
            lines.add(applied.headings, applied.columns)
            applied.count(summary, "predicted")
        lines.deliver("predictions", summary, _in_words(summary))
    return 0


def _in_words(summary: dict) -> str:
    """How many rows have an answer, and what stands beside it."""
    told = [f"{summary['predicted']} of {counted(summary['rows'], 'row')} predicted"]
    if (sure := summary["certain"]) is not None:
        told.append(f"{counted(sure, 'row')} certain")
    if (share := summary["coverage"]) is not None:
        told.append(f"low and high enclose {100 * share:g} % of the numbers")
    elif (radius := summary["radius"]) is not None:
        within = f"under noise of radius {radius:g}"
        told.append(f"low and high bound the prediction {within}")
    return "; ".join(told)


def _refuse_other_answers(model: Model, options: PredictOptions) -> None:
    """Name options that ask for what the model does not say."""
    numbers = model.predicts_numbers
    if options.scores and numbers:
        raise UserError(
            f"--scores is for classes, and {options.model} predicts numbers; leave it "
            "out."
        )
    if options.coverage is not None and not (numbers and model.measured):
        raise UserError(
            f"--coverage is for intervals, and {options.model} gives none; fit numbers "
            "with --model measured, or leave it out."
        )


class _Ends:
    """From where to where the numbers of a model go.

    Of a robust one within the noise that it was trained with, where that is known of
    the rows; of a measured one with a stated probability.
    """

    def __init__(self, model: Model, options: PredictOptions):
        self.model = model
        self.radius = None if model.measured else model.radius
        self.coverage: float | None = None
        if model.measured and model.fitted.interval_scores_ is not None:
            self.coverage = options.coverage or _COVERAGE
            n = len(model.fitted.interval_scores_)
            if options.coverage is None and self.coverage * (n + 1) > n:
                self.coverage = None
                output.warn(
                    f"{options.model} was trained on too few rows ({n}) for intervals "
                    f"that hold {100 * _COVERAGE:g} % of the numbers; give --coverage "
                    f"of at most {math.floor(1e4 * n / (n + 1)) / 1e4}."
                )

    def add(self, applied: Applied) -> None:
        """Add columns to the answers to some rows."""
        model, table = self.model, applied.table
        if model.measured:
            applied.add_columns(self._measured(applied))
            return
        radius: Any = self.radius
        if model.radius_column in table.numbers:
            factor = model.radius_factor
            radius = factor * row_radii(table, str(model.radius_column))
        if radius is None or (model.errors is not None and applied.bars is None):
            return  # rows whose noise is not known

        def ends(rows: np.ndarray) -> np.ndarray:
            bars = None if applied.bars is None else applied.bars.take(rows)
            own = radius[rows] if np.ndim(radius) else radius
            return model.fitted.prediction_range(
                applied.X[rows], radius=own, X_err=bars
            )

        known = applied.usable & ~np.isnan(radius)
        low, high = applied.spread(ends, 2, known)
        applied.add_columns({"low": low, "high": high})

    def _measured(self, applied: Applied) -> dict[str, list]:
        """Spreads, intervals, and which value to measure again."""
        line, features = self.model.fitted, self.model.columns.features

        def said(rows: np.ndarray) -> np.ndarray:
            asked = {"X_err": None if applied.cells is None else applied.cells[rows]}
            X = applied.X[rows]
            spreads = line.predict(X, **asked, return_std=True)[1]
            ends = np.full((len(rows), 2), np.nan)
            if self.coverage is not None:
                ends = line.predict_interval(X, **asked, coverage=self.coverage)
            return np.column_stack((spreads, ends, *line.remeasure(X, **asked)))

        with blamed_on_data():
            found = applied.spread(said, 5)
        headings = ("spread", "low", "high", "remeasure", "share")
        columns = dict(zip(headings, found, strict=True))
        columns["remeasure"] = [
            None if j is None or j < 0 else features[int(j)]
            for j in columns["remeasure"]
        ]
        return columns


@dataclass
class Applied:
    """Rows of a table as a model sees them, and the columns of answers to them."""

    table: Table
    X: np.ndarray | sp.csr_array
    usable: np.ndarray  # the others lack a value
    bars: ErrorBars | None = None  # sets of the rows, where those have been read
    cells: np.ndarray | None = None  # standard errors, for models that give verdicts
    headings: list[str] = field(default_factory=list)
    columns: list = field(default_factory=list)
    certain: int | None = None  # rows with such a verdict, of models that give them

    def answers(self, method: Callable, width: int = 1) -> list[list]:
        """Columns of what a method of the model says of usable rows."""
        if (cells := self.cells) is None:
            return self.spread(lambda k: method(self.X[k]), width)
        return self.spread(lambda k: method(self.X[k], X_err=cells[k]), width)

    def reach(self, certified_radius: Callable) -> list:
        """How far every row may be off, in units of its own set where it has one."""
        if (bars := self.bars) is None:
            return self.answers(certified_radius)[0]
        return self.spread(lambda k: certified_radius(self.X[k], bars.take(k)), 1)[0]

    def spread(self, answer: Callable, width: int, rows=None) -> list[list]:
        """Columns of answers to usable rows, or to a mask; None where there is none."""
        found: list[list] = [[None] * self.table.n for _ in range(width)]
        places = np.flatnonzero(self.usable if rows is None else rows)
        if places.size:
            answers = np.reshape(answer(places), (places.size, width))
            for column, own in zip(found, answers.T.tolist(), strict=True):
                for place, value in zip(places.tolist(), own, strict=True):
                    column[place] = None if value != value else value
        return found

    def add_columns(self, columns: dict[str, Any]) -> None:
        """Add these, by heading."""
        self.headings += columns
        self.columns += columns.values()

    def judge(self, model: Model, confidence: float | None) -> None:
        """Add the verdicts of a model that gives them; empty of rows not usable."""
        found = model.fitted.verdict(self.X, X_err=self.cells, confidence=confidence)
        self.certain = int((found.certain & self.usable).sum())
        features = model.columns.features
        said = {
            "margin": found.margin.tolist(),
            "spread": found.spread.tolist(),
            "chance": found.chance.tolist(),
            "verdict": ["certain" if sure else "doubtful" for sure in found.certain],
            "runner_up": found.runner_up.tolist(),
            "remeasure": [features[j] if j >= 0 else None for j in found.remeasure],
            "share": found.share.tolist(),
        }
        for name, column in said.items():
            told = zip(column, self.usable, strict=True)
            self.add_columns({name: [own if usable else None for own, usable in told]})

    def count(self, summary: dict, answered: str) -> None:
        """Count these rows in a summary."""
        summary["rows"] += self.table.n
        summary[answered] += int(self.usable.sum())
        if self.certain is not None:
            summary["certain"] = (summary["certain"] or 0) + self.certain


def apply_model(
    model: Model,
    options: ApplyOptions,
    target: str | None = None,
    radius_column: str | None = None,
    judged: bool = False,
) -> Iterator[Applied]:
    """Read the columns that a model needs by name, and predict the usable rows.

    Some rows at a time, in one read. Target and radii may be absent where they have the
    names they had in training. Errors are read where predictions depend on them, and
    where rows are `judged`.
    """
    with output.Progress(options.json) as progress:
        progress.show(f"reading {options.data}")
        size, memory = AT_ONCE, options.memory
        with blamed_on_data():
            source = open_reader(options.data, options.read, memory)
            if memory is not None:
                size = chunk_bytes(parse_bytes(memory))
        for remark in source.remarks:
            output.warn(remark)
        if options.confidence is not None and not model.gives_verdicts:
            raise UserError(
                f"--confidence is for verdicts, and {options.model} gives none; train "
                "with --model measured, or leave it out."
            )
        judged = judged or model.measured
        if model.predicts_numbers and not judged:
            judged = _has_errors(model, options, source)
        errors = errors_to_apply(model.errors, options, source.names, judged)
        aside = [name for name in (options.id, target) if name is not None]
        known = () if errors is None else errors.names
        radii = () if radius_column is None else (radius_column,)
        request = Request(
            texts=(*aside, *model.columns.categories),
            numbers=(*radii, *known),
            features=model.columns.numeric,
            dates=model.columns.dates,
            limits=tuple(model.columns.limits),
            optional=frozenset([model.target, model.radius_column or model.target]),
        )
        remarks, n = _Remarks(_FarValues(model)), 0
        for table in _tables(source, request, size):
            yield _applied(model, options, table, errors, judged, remarks)
            n += table.n
            progress.show(f"reading {options.data}, {output.whole(n)} rows done")
        remarks.tell(n, source.name)


def _has_errors(model: Model, options: ApplyOptions, source: Reader) -> bool:
    """Whether the errors that a model was trained with are known of the rows, too.

    A prediction does not need them; only how far it moves does.
    """
    if model.errors is None or options.errors is not None:
        return True
    known = {*model.errors.names} <= {*source.names}
    if not known:
        output.warn(
            f"{options.data} has no errors ({listed(model.errors.names, 3)}), so the "
            "predictions have no range; if they have other names, add --errors."
        )
    return known


def _tables(source: Reader, request: Request, size: int) -> Iterator[Table]:
    """Some rows at a time."""
    with explained(source.name):
        parts = source.parts(source.plan(request), size)
    while True:
        with explained(source.name):
            part = next(parts, None)
        if part is None:
            return
        yield part


def _applied(
    model: Model,
    options: ApplyOptions,
    table: Table,
    errors: ErrorColumns | None,
    judged: bool,
    remarks: _Remarks,
) -> Applied:
    """Rows of a table with their classes, and verdicts of models that give them."""
    dense = model.errors is not None or bool(model.columns.logs) or model.curved
    if model.columns.limits:
        model.columns.fill_limits(table)
    X = model.columns.encode(table, gaps=model.measured, dense=dense)
    if model.curved and sp.issparse(X):
        raise UserError(
            f"{options.model} needs distances between rows, and {options.data} is "
            "sparse; give a table with all its cells."
        )
    usable = np.ones(table.n, dtype=bool)
    if not model.fills_gaps:
        for hole in feature_holes(table, model.columns).values():
            usable &= ~hole
    remarks.note(table, ~usable, "a value")
    impossible = model.columns.without_logarithm(X)
    remarks.note(table, impossible & usable, "a logarithm")
    usable &= ~impossible
    bars = standard = None
    if errors is not None:
        with located(options.data):
            cells = errors.cells(table, model.columns)
        cells = errors.filled(cells, X, model.columns)
        lacking = np.isnan(cells[0] + cells[1]).any(axis=1)
        remarks.note(table, lacking & usable, "an error")
        usable &= ~lacking
        cells = tuple(map(np.nan_to_num, cells))
        X, cells = model.columns.take_logs(X, cells, errors.shape == "box")
        cells = tuple(map(np.nan_to_num, cells))
        if model.measured:
            standard = errors.standard(cells)
        else:
            bars = errors.sets(cells, X)
    else:
        X = model.columns.take_logs(X)[0]
    remarks.far.add(X[usable])
    for name, counts in model.columns.unseen(table).items():
        remarks.unseen.setdefault(name, Counter()).update(counts)
    ids = range(table.start + 1, table.start + 1 + table.n)
    applied = Applied(table, X, usable, bars if judged else None, standard)
    named = ids if options.id is None else table.texts[options.id]
    applied.add_columns({options.id or "row": named})
    applied.add_columns({"prediction": applied.answers(model.fitted.predict)[0]})
    if model.gives_verdicts:
        with blamed_on_data():
            applied.judge(model, options.confidence)
    return applied


@dataclass
class _Remarks:
    """Rows that get no answer: by reason how many, and the first of them.

    Also categories that the model has not met, `unseen`, by column; and numbers far
    outside their range in training.
    """

    far: _FarValues
    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, list[int]] = field(default_factory=dict)
    unseen: dict[str, Counter] = field(default_factory=dict)

    def note(self, table: Table, rows: np.ndarray, why: str) -> None:
        """Count rows of a table that lack something."""
        numbers = np.flatnonzero(rows)
        self.counts[why] = self.counts.get(why, 0) + numbers.size
        shown = self.first.setdefault(why, [])
        shown += (table.start + numbers[: 5 - len(shown)] + 1).tolist()

    def tell(self, n: int, where: str) -> None:
        """Say which rows get no answer, and which categories are new."""
        for why, count in self.counts.items():
            if count:
                first = ", ".join(map(str, self.first[why]))
                more = ", …" if count > 5 else ""
                output.warn(
                    f"{where}: {count} of {counted(n, 'row')} "
                    f"{agree(count, 'lacks', 'lack')} {why} and "
                    f"{agree(count, 'gets', 'get')} no answer "
                    f"({agree(count, 'row', 'rows')} {first}{more})."
                )
        for name, counts in self.unseen.items():
            values = [value for value, _ in counts.most_common()]
            output.warn(
                f"{where}: column {quoted(name)} holds {listed(values, 3)} in "
                f"{counted(counts.total(), 'row')}, which the model has not met in "
                f"training; {agree(len(values), 'it counts', 'they count')} as none of "
                "its categories."
            )
        self.far.tell(where)


class _FarValues:
    """Numbers far outside their range in training, counted by column."""

    def __init__(self, model: Model):
        self.columns, (low, high) = model.columns, model.ranges.T
        k, margin = len(low), np.where(high > low, _BEYOND * (high - low), np.inf)
        self.ranges, self.low, self.high = model.ranges, low - margin, high + margin
        #: Numbers in each column; those far outside, the least and the largest of them.
        self.known, self.far = np.zeros(k, dtype=int), np.zeros(k, dtype=int)
        self.least, self.largest = np.full(k, np.inf), np.full(k, -np.inf)

    def add(self, X: Any) -> None:
        """Count those of some rows."""
        X, k = X[:, : len(self.far)], len(self.far)
        if sp.issparse(X):  # what is not stored is 0, and inside nearly every range
            columns, values, known = X.indices, X.data, X.shape[0]
            far = (values < self.low[columns]) | (values > self.high[columns])
            columns, values = columns[far], values[far]
        else:
            rows, columns = np.nonzero((self.low > X) | (self.high < X))
            values, known = X[rows, columns], (~np.isnan(X)).sum(axis=0)
        self.known += known
        self.far += np.bincount(columns, minlength=k)
        np.minimum.at(self.least, columns, values)
        np.maximum.at(self.largest, columns, values)

    def tell(self, where: str) -> None:
        """Name the columns in which there are many."""
        names = self.columns.numeric
        many = np.flatnonzero(self.far > _MANY * self.known).tolist()
        for j in many[:_DESCRIBED]:
            ends = np.array([*self.ranges[j], self.least[j], self.largest[j]])
            ends = np.exp(ends) if names[j] in self.columns.logs else ends
            low, high, least, largest = map(output.number, ends.tolist())
            far, known = int(self.far[j]), int(self.known[j])
            output.warn(
                f"{where}: {far} of {counted(known, 'value')} in column "
                f"{quoted(names[j])} {agree(far, 'lies', 'lie')} far outside the range "
                f"of training, {low} to {high}: they range from {least} to {largest}. "
                "Check the unit."
            )
        if more := [names[j] for j in many[_DESCRIBED:]]:
            about = agree(len(more), "column", "columns")
            output.warn(
                f"{where}: many values of the {about} {listed(more)} lie far outside "
                "the range of training, too. Check the units."
            )
