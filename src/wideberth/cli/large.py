"""`wideberth fit --memory`: tables that are read in pieces and never held whole."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from wideberth.cli.commands import FitOptions
from wideberth.cli.errors import UserError, listed
from wideberth.cli.evaluation import certain
from wideberth.cli.labels import check_classes, label_values
from wideberth.cli.model import Model
from wideberth.cli.output import Progress
from wideberth.cli.prepare import Columns, extremes, moments
from wideberth.cli.recipe import texts_of
from wideberth.cli.result import (
    describe_uncertainty,
    feature_scales,
    problem_facts,
    put_together,
)
from wideberth.cli.uncertainty import tell_radius
from wideberth.data import Chunk, Request, TableSource, open_reader
from wideberth.data.memory import parse_bytes, room
from wideberth.estimators import RobustLinearSVC
from wideberth.estimators.pipeline import RobustPipeline

__all__ = ["fit_large"]

#: Most different labels that are kept in mind while a column is read; no classifier has
#: as many classes, and a column of measurements would fill the memory (a choice).
_TOO_MANY = 100_000


def fit_large(
    options: FitOptions, command: str, progress: Progress
) -> tuple[Model, dict]:
    """Train; return the model and what there is to say about it."""
    progress.show(f"reading {options.data}")
    classifier = RobustLinearSVC(
        C=options.C,
        radius=options.radius or 0.0,
        class_weight=options.class_weight,
        tol=options.tol,
        random_state=options.seed,
        verbose=int(progress.on),
    )
    try:
        source = _open(options)
        seen = Survey.of(source, str(options.target))
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier.fit(source)
        seconds = time.perf_counter() - started
        shares = _training_shares(classifier, source)
    except (FileNotFoundError, ImportError, ValueError) as error:
        raise UserError(" ".join(str(error).split())) from error
    pipeline, columns = RobustPipeline.around(classifier), Columns(source.plan.features)
    facts = {
        "data": _describe(seen, source, options),
        "uncertainty": _uncertainty(seen, source, columns, options),
        "choice": None,
        "training": _facts(classifier) | shares | {"seconds": seconds},
        "evaluation": None,
        "solver_notes": texts_of(caught),
    }
    return put_together(pipeline, columns, source.reader, facts, options, command)


def _open(options: FitOptions) -> TableSource:
    """DATA as the options ask, with labels of text."""
    if not os.path.exists(options.data):
        raise UserError(f"{options.data}: there is no such file.")
    radius = options.radius_column
    room(options.memory)  # some readers read all of a file
    limit = parse_bytes(options.memory)
    reader = open_reader(options.data, options.reading(), limit)
    request = Request(
        texts=(str(options.target),),
        numbers=() if radius is None else (radius,),
        dropped=tuple(options.drop),
    )
    beside = {"y": options.target, "radius": radius}
    plan = reader.plan(request)
    return TableSource(reader, plan, beside, options.memory, texts=True)


@dataclass
class Survey:
    """What one read tells about a table: labels, scales of the features, radii."""

    features: tuple[str, ...]
    rows: int = 0
    labels: Counter = field(default_factory=Counter)
    mean: np.ndarray | float = 0.0
    square: np.ndarray | float = 0.0  # sum of squared deviations
    low: np.ndarray | float = np.inf
    high: np.ndarray | float = -np.inf
    radii: tuple[float, float] = (np.inf, -np.inf)

    @classmethod
    def of(cls, source: TableSource, target: str) -> Survey:
        """Read everything once; from then on the labels of the source are values."""
        seen = cls(source.plan.features)
        for chunk in source.chunks():
            seen._add(chunk)
        source.values = label_values(seen.labels)
        check_classes(source.values, seen.rows, target)
        return seen

    def _add(self, chunk: Chunk) -> None:
        self.labels.update(chunk.y.tolist())
        if len(self.labels) > _TOO_MANY:
            raise UserError(
                f"the target column holds more than {_TOO_MANY} different values "
                f"({listed(self.labels, 3)}); it must hold a class."
            )
        if chunk.radius is not None:
            low, high = float(np.min(chunk.radius)), float(np.max(chunk.radius))
            self.radii = min(self.radii[0], low), max(self.radii[1], high)
        self._add_moments(chunk)

    def _add_moments(self, chunk: Chunk) -> None:
        """Means and squared deviations of both parts together."""
        n, (mean, spread) = chunk.n, moments(chunk.X)
        low, high = extremes(chunk.X)
        total, shift = self.rows + n, mean - self.mean
        self.square = self.square + n * spread**2 + shift**2 * self.rows * n / total
        self.mean = self.mean + shift * n / total
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)
        self.rows = total


def _describe(seen: Survey, source: TableSource, options: FitOptions) -> dict:
    counts: dict = {}
    for text, count in seen.labels.items():
        label = source.values[text]
        counts[label] = counts.get(label, 0) + count
    spread = np.sqrt(seen.square / seen.rows)
    scales = (seen.mean, spread, seen.low, seen.high)
    return {
        "rows_read": seen.rows,
        "rows_without_label": 0,
        "rows_dropped": 0,
        "rows_used": seen.rows,
        "missing_values": {},
        "values_filled_in": 0,
        "target": options.target,
        "classes": {str(label): counts[label] for label in sorted(counts)},
        "row_counters": None,  # only rows side by side would tell
        "features": feature_scales(seen.features, *scales),
    }


def _uncertainty(
    seen: Survey, source: TableSource, columns: Columns, options: FitOptions
) -> dict:
    each = source.brings_radii
    one = options.radius or 0.0
    # The median of radii that are read in pieces would take them all at once.
    radii = (seen.radii[0], None, seen.radii[1]) if each else (one, one, one)
    story = tell_radius(options)
    found = describe_uncertainty(story, radii, "l2", columns, options)
    return found | {"per_row": each, "factor": 1.0}


def _facts(classifier: RobustLinearSVC) -> dict:
    """Certificates of the binary problems."""
    count = len(classifier.screening_)
    problems = [problem_facts(classifier, k, {}) for k in range(count)]
    return {"problems": problems, "support": None, "tol": classifier.tol}


def _training_shares(classifier: RobustLinearSVC, source: TableSource) -> dict:
    """Accuracy on the rows trained on, as measured and under the worst noise."""
    right = certified = rows = 0
    for chunk in source.chunks():
        correct = classifier.predict(chunk.X) == chunk.y
        reach = classifier.certified_radius(chunk.X)
        radius = classifier.radius if chunk.radius is None else chunk.radius
        right += int(correct.sum())
        certified += int(certain(correct, reach, radius).sum())
        rows += chunk.n
    return {"training_accuracy": right / rows, "training_certified": certified / rows}
