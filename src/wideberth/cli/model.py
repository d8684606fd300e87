"""Model files: skops archives that hold no code and are read without running any.

A file is a dict of plain values and the fitted pipeline; only the types named here, and
those that skops itself trusts, are ever built from it.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wideberth.cli.errors import UserError, require
from wideberth.cli.measured import ErrorColumns
from wideberth.cli.prepare import Columns
from wideberth.data.errors import listed
from wideberth.estimators import RobustLinearSVC
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import RobustPipeline

#: Of the layout; raised when older versions of this package could not read it. 1 kept
#: one radius, which might be the median of many, 2 keeps where they came from, 3 where
#: error bars did, 4 may hold a population of true values, 5 boxes of noise, 6 the ramp
#: loss, 7 columns of dates and numbers scaled beside categories, and 8 how well a
#: population is known.
_FORMAT = 8
_TRUSTED = (
    "numpy.dtype",  # of SimpleImputer
    "scipy.sparse._csr.csr_array",
    "wideberth.cli.scaling.PreparedNumbers",
    "wideberth.estimators.svc.RobustLinearSVC",
    "wideberth.estimators.pipeline.RobustPipeline",
    "wideberth.estimators.measured_svc.MeasuredSVC",
    "wideberth.estimators.denoised.Denoised",
    "wideberth.measurement.true_features.TrueFeatures",
    "wideberth.measurement.population.Population",
    "wideberth.measurement.uncertainty.PopulationUncertainty",
    "wideberth.noise.shapes.Box",
    "wideberth.noise.shapes.CrossPolytope",
)
#: Where the types of model files of version 0.1 are now.
_MOVED = {
    ("wideberth.estimators", "RobustLinearSVC"): "wideberth.estimators.svc",
    ("wideberth.pipeline", "RobustPipeline"): "wideberth.estimators.pipeline",
}


@dataclass
class Model:
    """A fitted pipeline, and what it takes to feed it from a table."""

    pipeline: RobustPipeline | MeasuredSVC
    columns: Columns
    target: str
    radius_column: str | None  # that held each row's radius in training
    radius_factor: float  # by which the column was multiplied
    errors: ErrorColumns | None = None  # where those of the features are
    origin: dict = field(default_factory=dict)  # command, versions, data

    @property
    def gives_verdicts(self) -> bool:
        """Whether it knows rows by their errors and gaps (`--missing model`)."""
        return isinstance(self.pipeline, MeasuredSVC)

    @property
    def fills_gaps(self) -> bool:
        """Whether rows may lack values."""
        if isinstance(self.pipeline, MeasuredSVC):
            return True
        steps = self.pipeline.named_steps
        own = steps.get("preparednumbers")
        return "simpleimputer" in steps or (own is not None and own.fill)

    @property
    def radius(self) -> float | None:
        """The one radius trained with; None where rows had their own."""
        return classifier_of(self.pipeline).radius_

    @property
    def classes(self) -> np.ndarray:
        """Labels, sorted."""
        return classifier_of(self.pipeline).classes_


def classifier_of(pipeline: RobustPipeline | MeasuredSVC) -> RobustLinearSVC:
    """The step that decides."""
    whole = pipeline.pipeline_ if isinstance(pipeline, MeasuredSVC) else pipeline
    return whole[-1]


def dump_model(model: Model) -> bytes:
    """Return the content of a model file."""
    return _skops().dumps(
        {
            "wideberth model": _FORMAT,
            "pipeline": model.pipeline,
            "numeric": list(model.columns.numeric),
            "categories": {n: list(v) for n, v in model.columns.categories.items()},
            "dates": list(model.columns.dates),
            "target": model.target,
            "radius_column": model.radius_column,
            "radius_factor": float(model.radius_factor),
            "errors": None if model.errors is None else model.errors.described(),
            "origin": model.origin,
        }
    )


def load_model(path: str | Path) -> Model:
    """Read a model file that `wideberth fit` wrote, in this version or an earlier one.

    Its pipeline knows the names of its features: frames go by their columns, and those
    with other columns are refused, as scikit-learn has it.

    Raises
    ------
    UserError
        If it is something else, or holds types that are not trusted.
    """
    model = open_model(path)
    first = model.pipeline
    if isinstance(first, RobustPipeline):
        first = first[0]
    first.feature_names_in_ = np.array(model.columns.features, dtype=object)
    return model


def open_model(path: str | Path) -> Model:
    """The same for rows without names, as the commands read them from tables.

    Raises
    ------
    UserError
        If it is something else, or holds types that are not trusted.
    """
    skops = _skops()
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        data = _checked(data)
        strange = set(skops.get_untrusted_types(data=data)) - set(_TRUSTED)
        if strange:
            raise UserError(
                f"{path} holds {listed(sorted(strange))}, which wideberth fit does not "
                "write; it was not opened, because building such objects could run "
                "code."
            )
        content = skops.loads(data, trusted=list(_TRUSTED))
        if content["wideberth model"] > _FORMAT:
            raise UserError(
                f"{path} was written by a newer version of wideberth; update this one."
            )
        measured = isinstance(content["pipeline"], MeasuredSVC)
        if measured and content["wideberth model"] < 8:
            raise UserError(
                f"{path} was written by an older version of wideberth, whose "
                "populations do not say how well they are known; train it again with "
                "wideberth fit."
            )
        return _read(content)
    except UserError:
        raise
    except Exception:  # whatever a damaged or foreign archive makes of its readers
        raise UserError(
            f"{path} is not a model file written by wideberth fit."
        ) from None


def _checked(data: bytes) -> bytes:
    """An archive that is as large as it says, types of 0.1 under their present names.

    skops stores without compression. A compressed archive could unpack to anything, and
    one whose parts overlap, too.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
        stored = all(part.compress_type == zipfile.ZIP_STORED for part in parts)
        if not stored or sum(part.file_size for part in parts) > len(data):
            raise ValueError
        schema = archive.read("schema.json")
        if b'"wideberth.pipeline"' not in schema:
            return data
        contents = {part.filename: archive.read(part) for part in parts}
    renamed = json.loads(schema, object_hook=_renamed)
    contents["schema.json"] = json.dumps(renamed).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return made.getvalue()


def _renamed(node: dict) -> dict:
    for old, module in _MOVED.items():
        if (node.get("__module__"), node.get("__class__")) == old:
            return node | {"__module__": module}
    return node


def _read(content: dict) -> Model:
    """The model, once it has answered for two rows as it will have to for all."""
    pipeline, svc = content["pipeline"], classifier_of(content["pipeline"])
    for name, usual in RobustLinearSVC().get_params().items():
        if not hasattr(svc, name):  # a parameter that there was not yet
            setattr(svc, name, usual)
    if hasattr(svc, "loss"):  # a parameter up to version 0.2
        svc.ramp = svc.ramp if svc.loss == "ramp" else None
        del svc.loss
    if content["wideberth model"] == 1:
        # Where rows had radii of their own the parameter was 0, and the file held
        # their median, or 0; so only a number that both agree on is the radius.
        known = svc.radius > 0 and svc.radius == content["radius"]
        svc.radius_ = float(svc.radius) if known else None
        content |= {"radius_column": None, "radius_factor": 1.0}
    column, errors = content["radius_column"], content.get("errors")
    measured = isinstance(pipeline, MeasuredSVC)
    columns = Columns(
        tuple(content["numeric"]),
        {name: tuple(levels) for name, levels in content["categories"].items()},
        tuple(content.get("dates", ())),
    )
    model = Model(
        pipeline,
        columns,
        str(content["target"]),
        None if column is None else str(column),
        float(content["radius_factor"]),
        errors if errors is None else ErrorColumns.read(errors, columns, measured),
        dict(content["origin"]),
    )
    rows = np.zeros((2, len(model.columns.features)))
    exact = None if errors is None else np.zeros_like(rows)
    scores = () if len(model.classes) == 2 else (len(model.classes),)
    sound = (
        (model.radius is None or 0 <= model.radius < np.inf)
        and 0 <= model.radius_factor < np.inf
        and svc.intercept_.shape == (scores or (1,))
        and pipeline.decision_function(rows, exact).shape == (2, *scores)
        and pipeline.predict(rows, exact).shape == (2,)
    )
    if measured:
        sound = sound and np.all(pipeline.verdict(rows, exact).chance <= 1)
    else:
        sound = sound and (
            isinstance(pipeline, RobustPipeline)
            and pipeline.linear_map_.shape[1] == rows.shape[1]
            and pipeline.certified_radius(rows, exact).shape == (2,)
        )
    if not sound:
        raise ValueError
    return model


def _skops():
    require("skops", "a model file")
    import skops.io

    return skops.io
