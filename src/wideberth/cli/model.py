"""Models of the command line: `fit` writes them, `predict` and `certify` apply them.

The format of their files is that of `model_file.py`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wideberth.cli.errors import UserError
from wideberth.cli.model_file import MAGIC, Unreadable, dumps, loads
from wideberth.cli.prepare import Columns
from wideberth.cli.uncertainty import ErrorColumns
from wideberth.data.errors import listed
from wideberth.estimators import RobustKernelSVC, RobustLinearSVC
from wideberth.estimators.measured_regressor import MeasuredRegressor
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.estimators.regressor import RobustLinearRegressor


@dataclass
class Model:
    """A fitted model, and what it takes to feed it from a table."""

    fitted: RobustPipeline | MeasuredSVC | MeasuredRegressor
    columns: Columns
    target: str
    radius_column: str | None  # that held each row's radius in training
    radius_factor: float  # by which the column was multiplied
    #: Least and largest value of each numeric column in training, logarithms where
    #: those are taken: shape (n_numeric, 2). NaN in files of version 0.3.
    ranges: np.ndarray
    errors: ErrorColumns | None = None  # where those of the features are
    origin: dict = field(default_factory=dict)  # command, versions, data
    scaled: bool = False  # whether --noise or --replicates gave standard deviations

    @property
    def pipeline(self) -> RobustPipeline | MeasuredSVC | MeasuredRegressor:
        """The fitted model, for frames whose columns are its features as they are.

        Raises
        ------
        UserError
            If the command line prepares columns before the model sees them.
        """
        columns = self.columns
        prepared = {
            "logarithms (--log) of": columns.logs,
            "categories (--one-hot) of": columns.categories,
            "limits of detection (--limits) of": columns.limits,
            "dates as days (--read dates=) of": {*columns.dates} & {*columns.numeric},
        }
        steps = [f"{w} {listed(names)}" for w, names in prepared.items() if names]
        if steps:
            raise UserError(
                "This model has no pipeline for frames: wideberth predict prepares the "
                f"columns first, with {', '.join(steps)}, and the pipeline does not. "
                "Predict with wideberth predict, or train in Python."
            )
        return self.fitted

    @property
    def measured(self) -> bool:
        """Whether it knows rows by their errors and gaps (`--model measured`)."""
        return isinstance(self.fitted, (MeasuredSVC, MeasuredRegressor))

    @property
    def curved(self) -> bool:
        """Whether its boundary is that of a kernel (`--kernel`)."""
        return getattr(self.fitted, "curved_", None) is not None

    @property
    def gives_verdicts(self) -> bool:
        """Whether it says how certain the class of a row is."""
        return self.measured and not self.predicts_numbers

    @property
    def gives_chances(self) -> bool:
        """Whether errors are stated as standard deviations, alike for all rows or not.

        Then the chance is known that errors of that size change a class.
        """
        if self.measured or self.predicts_numbers or self.curved or self.radius_column:
            return False
        return self.scaled if self.errors is None else self.errors.shape != "box"

    @property
    def predicts_numbers(self) -> bool:
        """Whether it is a regression."""
        last = self.fitted
        last = last[-1] if isinstance(last, RobustPipeline) else last
        return isinstance(last, (RobustLinearRegressor, MeasuredRegressor))

    @property
    def fills_gaps(self) -> bool:
        """Whether rows may lack values."""
        steps = () if self.measured else self.fitted.steps
        return self.measured or any(getattr(step, "fill", False) for _, step in steps)

    @property
    def radius(self) -> float | None:
        """The one radius trained with; None where rows had their own, or none."""
        if isinstance(self.fitted, MeasuredRegressor):
            return None
        last: Any = decider_of(self.fitted)
        return last.radius_

    @property
    def classes(self) -> np.ndarray:
        """Labels, sorted."""
        return decider_of(self.fitted).classes_


def decider_of(
    pipeline: RobustPipeline | MeasuredSVC,
) -> RobustLinearSVC | RobustKernelSVC | RobustLinearRegressor:
    """The step that decides on a class or a number."""
    whole = pipeline.pipeline_ if isinstance(pipeline, MeasuredSVC) else pipeline
    return whole[-1]


def dump_model(model: Model) -> bytes:
    """Return the content of a model file."""
    return dumps(
        {
            "target": model.target,
            "numeric": list(model.columns.numeric),
            "categories": {n: list(v) for n, v in model.columns.categories.items()},
            "dates": list(model.columns.dates),
            "logs": list(model.columns.logs),
            "limits": {n: list(ends) for n, ends in model.columns.limits.items()},
            "radius_column": model.radius_column,
            "radius_factor": float(model.radius_factor),
            "errors": None if model.errors is None else asdict(model.errors),
            "pipeline": model.fitted,
            "origin": model.origin,
            "scaled": model.scaled,
            "ranges": model.ranges,
        }
    )


def load_model(path: str | Path) -> Model:
    """Read a model file that `wideberth fit` has written (version 0.3 or later).

    Parameters
    ----------
    path : str or Path
        The file, such as "model.wideberth".

    Returns
    -------
    Model
        `pipeline`, which predicts like any estimator of scikit-learn; `classes`; and
        `columns.features`, the names of the columns that it needs. The pipeline takes
        data frames with these columns, and refuses others. A model with logarithms,
        categories, limits of detection or dates has no `pipeline`, because `wideberth
        predict` prepares these columns; asking for it raises a `UserError`.

    Raises
    ------
    UserError
        If the file is no model file, is damaged, or was written by a newer version.
    """
    model = open_model(path)
    first = model.fitted
    if isinstance(first, RobustPipeline):
        first = first[0]
    first.feature_names_in_ = np.array(model.columns.features, dtype=object)
    return model


def open_model(path: str | Path) -> Model:
    """The same for rows without names, as the commands read them from tables.

    Raises
    ------
    UserError
        If it is something else, damaged, or of a newer version.
    """
    try:
        with open(path, "rb") as stream:
            data = stream.read(len(MAGIC))
            if data == MAGIC:  # other files may be larger than memory
                data += stream.read()
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return _read(loads(data))
    except Unreadable as error:
        raise UserError(f"{path} {error}") from None
    except Exception:  # whatever a damaged archive makes of its readers
        raise UserError(
            f"{path} is damaged: its parts do not make a model; copy it again, or "
            "train it again with wideberth fit."
        ) from None


def _read(content: dict) -> Model:
    """The model, once it has answered for two rows as it will have to for all."""
    pipeline, errors = content["pipeline"], content["errors"]
    measured = isinstance(pipeline, (MeasuredSVC, MeasuredRegressor))
    whole = pipeline.pipeline_ if isinstance(pipeline, MeasuredSVC) else pipeline
    if not isinstance(whole, (RobustPipeline, MeasuredRegressor)):
        raise ValueError
    columns = Columns(
        tuple(map(str, content["numeric"])),
        {str(n): tuple(map(str, v)) for n, v in content["categories"].items()},
        tuple(map(str, content["dates"])),
        tuple(map(str, content.get("logs", ()))),
        {
            str(n): (float(low), float(high))
            for n, (low, high) in content.get("limits", {}).items()
        },
    )
    if not {*columns.logs, *columns.limits} <= {*columns.numeric}:
        raise ValueError
    column = content["radius_column"]
    model = Model(
        pipeline,
        columns,
        str(content["target"]),
        None if column is None else str(column),
        float(content["radius_factor"]),
        content.get("ranges", np.full((len(columns.numeric), 2), np.nan)),
        errors if errors is None else ErrorColumns.read(errors, columns, measured),
        dict(content["origin"]),
        bool(content.get("scaled", False)),
    )
    sound = (
        (model.radius is None or 0 <= model.radius < np.inf)
        and 0 <= model.radius_factor < np.inf
        and model.ranges.shape == (len(columns.numeric), 2)
        and _answers_two_rows(model)
    )
    if not sound:
        raise ValueError
    return model


def _answers_two_rows(model: Model) -> bool:
    """Whether a model answers for rows of zeros, with errors if it asks for any."""
    pipeline, rows = model.fitted, np.zeros((2, len(model.columns.features)))
    exact = None if model.errors is None else np.zeros_like(rows)
    if isinstance(pipeline, MeasuredRegressor):
        scores = pipeline.interval_scores_
        found = pipeline.predict(rows, exact, return_std=True)
        if pipeline.kernel == "linear" and not (
            pipeline.coef_.shape == pipeline.coef_std_.shape == rows.shape[1:]
        ):
            return False
        return (
            all(np.isfinite(part).all() and part.shape == (2,) for part in found)
            and len(pipeline.remeasure(rows, exact)[0]) == 2
            and (scores is None or (np.sort(scores) == scores).all())
        )
    if isinstance(pipeline, RobustPipeline):
        curved = pipeline.curved_
        linear = pipeline.linear_map_ if curved is None else curved.linear
        if linear is None or linear.shape[1] != rows.shape[1]:
            return False
    last: Any = decider_of(pipeline)
    if pipeline.predict(rows, exact).shape != (2,):
        return False
    if model.predicts_numbers:
        radius = last.radius_ or 0.0
        ranges = pipeline.prediction_range(rows, X_err=exact, radius=radius)
        sound = isinstance(last.intercept_, float) and last.target_scale_ > 0
        return sound and ranges.shape == (2, 2)
    shape = () if len(model.classes) == 2 else (len(model.classes),)
    if isinstance(pipeline, MeasuredSVC):
        sound = np.all(pipeline.verdict(rows, exact).chance <= 1)
    else:
        sound = pipeline.certified_radius(rows, exact).shape == (2,)
    return (
        bool(sound)
        and np.shape(last.intercept_) == (shape or (1,))
        and pipeline.decision_function(rows, exact).shape == (2, *shape)
    )
