"""The format of model files: parameters and arrays under names that do not change.

A model file is a zip archive without compression. Its member `model.json` says what the
model is; every array is a member of its own, in NumPy's format `.npy`. In the JSON
null, numbers, strings, lists and objects stand for themselves, but for objects with a
key that begins with `$`:

    {"$array": "3.npy"}               an array of numbers or text, in that member
    {"$objects": ["a", 1]}            a list as an array of objects
    {"$scalar": ["<f8", 0.5]}         a number of NumPy's
    {"$float": "inf"}                 a number that JSON does not have
    {"$tuple": [1, 2]}
    {"$dict": [[1, "a"], [2, "b"]]}   where keys are not plain strings
    {"$kind": "StandardScaler", …}    an object of a kind in the table `_KINDS`, with
                                      its attributes

Nothing but what is in the table is ever built: a file from a stranger runs no code, and
makes Python import nothing. Classes may move and be renamed, for the names of kinds and
attributes in files stay as they are. Where an attribute is renamed in the code, or is
taken out, the `build` of its kind translates what older files hold.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from wideberth.cli.errors import UserError
from wideberth.cli.prepare import PreparedNumbers
from wideberth.data.errors import quoted
from wideberth.estimators.curved import Curve, CurvedFront
from wideberth.estimators.denoised import Denoised, place_of_features
from wideberth.estimators.kernel_svc import RobustKernelSVC
from wideberth.estimators.linear import LinearModel
from wideberth.estimators.measured_regressor import MeasuredLine, MeasuredRegressor
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.estimators.regressor import RobustLinearRegressor
from wideberth.estimators.spread_calibration import SpreadCalibration
from wideberth.estimators.svc import RobustLinearSVC
from wideberth.measurement.population import Population
from wideberth.measurement.true_features import TrueFeatures
from wideberth.measurement.uncertainty import PopulationUncertainty
from wideberth.noise.shapes import Box, CrossPolytope

#: Of the format; raised when older versions of this package could not read it.
VERSION = 1
#: The first bytes of every file.
MAGIC = b"PK\x03\x04"
_FORMAT = "wideberth model"
_DESCRIPTION = "model.json"
_OTHER = "is not a model file; give the file that wideberth fit --out wrote."
_AGAIN = "copy it again, or train it again with wideberth fit."


class Unreadable(ValueError):
    """Ends a sentence that begins with the name of the file."""


def _unknown(what: str) -> Unreadable:
    return Unreadable(
        f"holds {what}, which this version of wideberth does not know; update it, or "
        "train again with wideberth fit."
    )


# -- what a file may hold --------------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """A class whose objects a file may hold, and which of their attributes it keeps.

    `build`, by default the class, is called with the attributes `given`. The `others`
    are set on what it returns; an object need not have them.
    """

    cls: type
    given: Collection[str]
    others: Collection[str] = ()
    build: Callable | None = None

    def described(self, value) -> dict:
        names = [*self.given, *(name for name in self.others if hasattr(value, name))]
        return {name: getattr(value, name) for name in names}

    def built(self, attributes: dict):
        strange = attributes.keys() - {*self.given, *self.others}
        if strange:
            raise _unknown(f"a {self.cls.__name__} with {quoted(min(strange))}")
        given = [name for name in self.given if name in attributes]
        made = (self.build or self.cls)(
            **{name: attributes.pop(name) for name in given}
        )
        for name, value in attributes.items():
            setattr(made, name, value)
        return made


def _estimator(
    cls: type,
    fitted: str,
    parameters: Collection[str] = (),
    kind: type[_Kind] = _Kind,
) -> _Kind:
    """All parameters, or these, and what `fit` leaves on an estimator."""
    names = ("n_features_in_", "feature_names_in_", *fitted.split())
    return kind(cls, parameters or list(cls().get_params(deep=False)), names)


def _record(cls: type) -> _Kind:
    return _Kind(cls, [each.name for each in fields(cls)])


def _shape(cls: type) -> _Kind:
    return _Kind(cls, ("scales",), ("feature_names",), lambda scales: cls(scales))


class _Pipelines(_Kind):
    """Pipelines, of which a file keeps the steps, their linear map and the noise.

    With `TrueFeatures` the map is that of the steps before it; its parts (`Denoised`)
    are made again from the steps. With a kernel it is that of the steps before the
    kernel, and a file also keeps the radius and shape of errors in front of it.
    """

    def described(self, value: RobustPipeline) -> dict:
        parts, front, linear = value.denoised_, value.curved_, value.linear_map_
        kept = {"steps": value.steps, "linear_map": linear, "noise": value.noise_}
        if parts is not None:
            kept["linear_map"] = parts.linear
        if front is not None:
            kept["linear_map"] = front.linear
            kept["curved"] = [front.radius, front.error_shape]
        return kept

    def built(self, attributes: dict) -> RobustPipeline:
        steps = attributes["steps"]
        *ahead, last = [step for _, step in steps]
        known: tuple[type, ...] = (StandardScaler, PreparedNumbers)
        if isinstance(last, (RobustLinearSVC, RobustKernelSVC)):
            known += (TrueFeatures,)
        kernel = ahead.pop() if ahead and isinstance(ahead[-1], Nystroem) else None
        known_last = (RobustLinearSVC, RobustLinearRegressor, RobustKernelSVC)
        sound = isinstance(last, known_last) and all(
            isinstance(step, known) for step in ahead
        )
        if not sound:  # pipelines within pipelines could take forever
            raise ValueError
        made, linear = RobustPipeline(steps), attributes["linear_map"]
        made.linear_map_, made.noise_ = linear, attributes["noise"]
        made.denoised_ = made.curved_ = None
        if (k := place_of_features(steps)) is not None:
            before = Pipeline(steps[:k]) if k else None
            parts = Denoised(before, linear, steps[k][1], last)
            made.linear_map_, made.denoised_ = None, parts
        elif kernel is not None or isinstance(last, RobustKernelSVC):
            curve = last.curved_.curve if kernel is None else _curve(kernel)
            made.linear_map_ = None
            made.curved_ = CurvedFront(curve, linear, *attributes["curved"])
        return made


def _curve(step: Nystroem) -> Curve:
    """What a kernel step does, whose arrays go together."""
    curve = _sound_curve(**vars(Curve.of("nystroem", step)))
    if step.n_features_in_ != curve.landmarks.shape[1]:
        raise ValueError
    return curve


def _sound_curve(**attributes) -> Curve:
    """The same from its parts."""
    curve = Curve(**attributes)
    m, _ = curve.landmarks.shape
    if curve.matrix.shape != (m, m) or not (
        curve.order in (1, 2) and 0 < curve.gamma < math.inf and curve.unit > 0
    ):
        raise ValueError
    return curve


class _Machines(_Kind):
    """Kernel machines, whose front is that of the pipeline within them."""

    def built(self, attributes: dict) -> RobustKernelSVC:
        made = super().built(attributes)
        if hasattr(made, "pipeline_"):
            first, last = made.pipeline_.steps
            if not (
                isinstance(first[1], Nystroem) and type(last[1]) is RobustLinearSVC
            ):
                raise ValueError
            made.curved_ = made.pipeline_.curved_
        return made


def _sparse(data, indices, indptr, shape: tuple) -> sp.csr_array:
    """A sparse matrix from parts of unknown origin; a ValueError if they are none.

    SciPy's routines trust the indices, and its check of them trusts `indptr`.
    """
    rising = indptr.dtype.kind in "iu" and np.all(indptr[1:] >= indptr[:-1])
    if len(shape) != 2 or not rising or not 0 <= indptr[-1] <= len(indices):
        raise ValueError("its parts are not those of a sparse matrix")
    matrix = sp.csr_array((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _line(**attributes) -> MeasuredLine:
    """A line or curve whose arrays are as long as its features say."""
    line = MeasuredLine(**attributes)
    d, m = len(line.centre), int(line.varies.sum())
    weighed, d_of_curve = (d, d) if line.curve is None else line.curve.landmarks.shape
    sound = (
        line.varies.dtype == bool
        and (line.varies.shape, line.coef.shape) == ((d + 1,), (weighed,))
        and d_of_curve == d
        and line.centre.shape == line.scale.shape == (d,)
        and line.population.means.shape == (1, m)
        and line.population.covariances.shape == (1, m, m)
        and line.scatter >= 0
        and line.unit > 0
        and np.all(line.scale > 0)
    )
    if not sound:
        raise ValueError
    return line


_CLASSIFIER = (
    "classes_ coef_ intercept_ support_ dual_coef_ suspects_ descent_ objective_ "
    "dual_gap_ relative_gap_ converged_ n_iter_ screening_ noise_ error_shape_ radius_"
)
_KINDS: dict[str, _Kind] = {
    "RobustLinearSVC": _estimator(RobustLinearSVC, _CLASSIFIER),
    "RobustKernelSVC": _estimator(
        RobustKernelSVC,
        f"{_CLASSIFIER} C_ gamma_ n_components_ cv_scores_ pipeline_",
        kind=_Machines,
    ),
    "Nystroem": _estimator(
        Nystroem,
        "components_ component_indices_ normalization_ _n_features_out",
        [name for name in Nystroem().get_params() if name != "n_jobs"],
    ),
    "MeasuredSVC": _estimator(
        MeasuredSVC,
        "classes_ C_ gamma_ radius_ cv_scores_ calibration_ pipeline_ coef_ intercept_ "
        "n_iter_ _measured",
    ),
    "RobustLinearRegressor": _estimator(
        RobustLinearRegressor,
        "coef_ intercept_ target_scale_ objective_ dual_gap_ relative_gap_ converged_ "
        "n_iter_ noise_ error_shape_ radius_",
    ),
    "MeasuredRegressor": _estimator(
        MeasuredRegressor,
        "coef_ intercept_ scatter_ coef_std_ gamma_ interval_scores_ _line _measured",
    ),
    "MeasuredLine": _Kind(
        MeasuredLine, [each.name for each in fields(MeasuredLine)], (), _line
    ),
    "Curve": _Kind(Curve, [each.name for each in fields(Curve)], (), _sound_curve),
    "TrueFeatures": _estimator(
        TrueFeatures,
        "weights_ means_ covariances_ n_components_ shrinkage_ n_iter_ objective_ "
        "misfit_ _centre _scale _beside _categories _effects _population _uncertainty "
        "_measured",
    ),
    "PreparedNumbers": _estimator(PreparedNumbers, "medians_ scales_ means_"),
    "StandardScaler": _estimator(
        StandardScaler, "n_samples_seen_ mean_ var_ scale_", ("with_mean", "with_std")
    ),
    "RobustPipeline": _Pipelines(RobustPipeline, ()),
    "SpreadCalibration": _record(SpreadCalibration),
    "Population": _record(Population),
    "PopulationUncertainty": _record(PopulationUncertainty),
    "Box": _shape(Box),
    "CrossPolytope": _shape(CrossPolytope),
    "CSR": _Kind(sp.csr_array, ("data", "indices", "indptr", "shape"), (), _sparse),
}


# -- writing ---------------------------------------------------------------------------


def dumps(content: dict) -> bytes:
    """The file that holds these values; the same bytes for the same values."""
    encoder = _Encoder()
    described = {"format": _FORMAT, "version": VERSION} | encoder.tree(content)
    text = json.dumps(described, indent=1, allow_nan=False)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in {_DESCRIPTION: text.encode(), **encoder.members}.items():
            member = zipfile.ZipInfo(name)  # of 1 January 1980, whenever it is written
            member.create_system = 3  # as on Unix, everywhere
            archive.writestr(member, data)
    return made.getvalue()


class _Encoder:
    """Turns values into JSON, and collects the members with their arrays."""

    def __init__(self):
        self.members: dict[str, bytes] = {}
        self._arrays: list[np.ndarray] = []  # kept, so that no other has their identity
        self._names: dict[int, str] = {}  # of members, by the identity of their arrays

    def tree(self, value):
        """The JSON of a value."""
        if isinstance(value, str):
            return str(value)
        if isinstance(value, np.generic):
            return {"$scalar": [value.dtype.str, self.tree(value.item())]}
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": str(value)}
        if isinstance(value, list):
            return self._list(value)
        if isinstance(value, tuple):
            return {"$tuple": self._list(value)}
        if isinstance(value, dict):
            if all(isinstance(key, str) and key[:1] != "$" for key in value):
                return {key: self.tree(each) for key, each in value.items()}
            return {"$dict": [self._list(pair) for pair in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(value)
        for name, kind in _KINDS.items():
            if type(value) is kind.cls:
                return {"$kind": name, **self.tree(kind.described(value))}
        way = "store it with joblib"
        if isinstance(value, LinearModel):  # a search, which holds functions
            way = "store its best_estimator_, or the search with joblib"
        raise UserError(f"a model file holds no {type(value).__name__}; {way}.")

    def _list(self, values: Iterable) -> list:
        return [self.tree(each) for each in values]

    def _array(self, array: np.ndarray) -> dict:
        if array.dtype == object and array.ndim == 1:
            return {"$objects": self._list(array.tolist())}
        name = self._names.setdefault(id(array), f"{len(self.members)}.npy")
        if name not in self.members:
            stream = io.BytesIO()
            np.lib.format.write_array(stream, array, (1, 0), allow_pickle=False)
            self.members[name] = stream.getvalue()
            self._arrays.append(array)
        return {"$array": name}


# -- reading ---------------------------------------------------------------------------


def loads(data: bytes) -> dict:
    """What `dumps` was given.

    No part may claim more bytes than the file has, and none is compressed, so that
    nothing larger than the file is ever unpacked.

    Raises
    ------
    Unreadable
        Where it is known what is wrong.
    Exception
        Of any kind, where a part is damaged.
    """
    if not data.startswith(MAGIC):
        raise Unreadable(_OTHER)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {part.filename: part for part in archive.infolist()}
        if "schema.json" in parts:
            raise Unreadable(
                "was written by wideberth 0.2 or an earlier version, whose model files "
                "are no longer read; train it again with wideberth fit."
            )
        if _DESCRIPTION not in parts:
            raise Unreadable(_OTHER)
        packed = any(part.compress_type for part in parts.values())
        if packed or sum(part.file_size for part in parts.values()) > len(data):
            raise Unreadable(
                "holds parts that are compressed or larger than the file, as wideberth "
                f"fit never writes them, and was not unpacked; {_AGAIN}"
            )
        described = json.loads(archive.read(_DESCRIPTION))
        if described.pop("format") != _FORMAT:
            raise ValueError
        if described.pop("version") > VERSION:
            raise Unreadable(
                "was written by a newer version of wideberth; update this one."
            )
        return _Decoder(archive, parts).value(described)


class _Decoder:
    """Turns JSON into values, and reads the members with their arrays."""

    def __init__(self, archive: zipfile.ZipFile, parts: Collection[str]):
        self._archive, self._parts = archive, parts
        self._arrays: dict[str, np.ndarray] = {}

    def value(self, tree):
        """The value of JSON."""
        if isinstance(tree, list):
            return [self.value(each) for each in tree]
        if not isinstance(tree, dict):
            return tree
        if "$kind" in tree:
            name = tree.pop("$kind")
            if name not in _KINDS:
                raise _unknown(f"an object of the kind {quoted(name)}")
            attributes = {key: self.value(each) for key, each in tree.items()}
            return _KINDS[name].built(attributes)
        tag = next((key for key in tree if key[:1] == "$"), None)
        if tag is None:
            return {key: self.value(each) for key, each in tree.items()}
        ((_, held),) = tree.items()
        match tag:
            case "$array":
                return self._array(held)
            case "$objects":
                made = np.empty(len(held), dtype=object)
                made[:] = self.value(held)
                return made
            case "$scalar":
                number = np.dtype(str(held[0]))
                if number.kind in "biuf":
                    return number.type(self.value(held[1]))
            case "$float":
                return float(held)
            case "$tuple":
                return tuple(self.value(held))
            case "$dict":
                return dict(self.value(held))
        raise ValueError(tag)

    def _array(self, name: str) -> np.ndarray:
        if name not in self._arrays:
            if name not in self._parts:
                raise Unreadable(f"lacks its array {quoted(name)}; {_AGAIN}")
            self._arrays[name] = _read_array(self._archive.read(name), name)
        return self._arrays[name]


def _read_array(data: bytes, name: str) -> np.ndarray:
    """An array in NumPy's format; nothing is allocated before its size is checked."""
    stream = io.BytesIO(data)
    np.lib.format.read_magic(stream)
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    kinds = {dtype[name].kind for name in dtype.names or ()} or {dtype.kind}
    if dtype.itemsize == 0 or not kinds <= set("biufU"):
        raise Unreadable(
            f"holds an array of the type {dtype}, {quoted(name)}, and model files hold "
            f"numbers and text only; {_AGAIN}"
        )
    start = stream.tell()
    if math.prod(shape) * dtype.itemsize != len(data) - start:
        raise Unreadable(
            f"holds an array that is not as large as it says, {quoted(name)}; {_AGAIN}"
        )
    order: Literal["F", "C"] = "F" if by_columns else "C"
    array = np.ndarray(shape, dtype, data, start, order=order).copy(order)
    if dtype.kind not in "biuf":
        array.ravel().tolist()  # fails where text has characters that do not exist
    return array
