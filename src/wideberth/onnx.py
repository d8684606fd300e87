"""ONNX export through skl2onnx (extra `onnx`).

`register_onnx()` teaches skl2onnx the estimators of this package; after that
`skl2onnx.to_onnx(model, X[:1])` works on a model alone and within pipelines. The graph
of a classifier has two outputs: `label`, and `scores` of shape (n, 1) for two classes
or (n, classes), the values of `decision_function`. That of a regressor has one output,
`variable` of shape (n, 1), like those of scikit-learn's regressors. float32 and float64
inputs keep their precision. Error bars are for training and certificates, and no part
of the graph.
"""

from __future__ import annotations

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.validation import check_is_fitted

from wideberth.estimators import (
    MeasuredRegressor,
    MeasuredSVC,
    RobustLinearRegressor,
    RobustLinearRegressorCV,
    RobustLinearSVC,
    RobustLinearSVCCV,
)
from wideberth.estimators.curved import Curve
from wideberth.estimators.kernel_svc import RobustKernelSVC
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.measurement import TrueFeatures
from wideberth.problem.arrays import host


def register_onnx() -> None:
    """Let skl2onnx convert linear models, their searches and robust pipelines."""
    try:
        from skl2onnx import update_registered_converter, update_registered_parser
    except ImportError as error:
        raise ImportError(
            "ONNX export needs skl2onnx: pip install 'wideberth[onnx]'."
        ) from error
    for classifier in (RobustLinearSVC, RobustLinearSVCCV):
        update_registered_converter(
            classifier,
            f"Wideberth{classifier.__name__}",
            _set_output_types,
            _convert,
            parser=_declare_outputs,
            options={"zipmap": [True, False], "nocl": [True, False]},
        )
    for regressor in (RobustLinearRegressor, RobustLinearRegressorCV):
        update_registered_converter(
            regressor,
            f"Wideberth{regressor.__name__}",
            _set_number_type,
            _convert_number,
            parser=_declare_number,
        )
    update_registered_converter(
        Nystroem, "WideberthNystroem", _set_features_type, _convert_kernel
    )
    update_registered_parser(RobustPipeline, _parse_steps)
    update_registered_parser(RobustKernelSVC, _parse_machine)
    for kind in (MeasuredSVC, MeasuredRegressor, TrueFeatures):
        update_registered_parser(kind, _refuse_posteriors)


def _refuse_posteriors(scope, model, inputs, custom_parsers=None):
    way = "Export the classifier after it, and give that the posterior means."
    if isinstance(model, MeasuredRegressor):
        way = "Predict with the model itself; wideberth predict does so for files."
    if isinstance(model, MeasuredRegressor) and model.kernel == "linear":
        way = "For exact rows it is a line: X @ coef_ + intercept_."
    raise ValueError(
        f"{type(model).__name__} has no ONNX graph: what it makes of a row depends on "
        f"the errors and gaps of that row, for which a graph of X has no place. {way}"
    )


def _declare_outputs(scope, model, inputs, custom_parsers=None):
    from skl2onnx.common.data_types import Int64TensorType, guess_tensor_type

    operator = _declare_operator(scope, model, inputs)
    scores = guess_tensor_type(inputs[0].type)
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    operator.outputs.append(scope.declare_local_variable("scores", scores))
    return operator.outputs


def _declare_number(scope, model, inputs, custom_parsers=None):
    from skl2onnx.common.data_types import guess_tensor_type

    operator = _declare_operator(scope, model, inputs)
    value = guess_tensor_type(inputs[0].type)
    operator.outputs.append(scope.declare_local_variable("variable", value))
    return operator.outputs


def _declare_operator(scope, model, inputs):
    if not hasattr(model, "coef_"):
        raise ValueError(
            f"{type(model).__name__} has no model to convert; fit it first, without "
            "refit=False in its solver_options."
        )
    alias = f"Wideberth{type(model).__name__}"
    operator = scope.declare_local_operator(alias, model)
    operator.inputs = inputs
    return operator


def _parse_steps(scope, model, inputs, custom_parsers=None):
    from skl2onnx._parse import _parse_sklearn

    for _, step in model.steps:
        inputs = _parse_sklearn(scope, step, inputs, custom_parsers=custom_parsers)
    return inputs


def _parse_machine(scope, model, inputs, custom_parsers=None):
    check_is_fitted(model, "pipeline_")
    return _parse_steps(scope, model.pipeline_, inputs, custom_parsers)


def _set_output_types(operator) -> None:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    model, n = operator.raw_operator, operator.inputs[0].get_first_dimension()
    kind = Int64TensorType if _labels(model).dtype == np.int64 else StringTensorType
    operator.outputs[0].type = kind([n])
    operator.outputs[1].type.shape = [n, model.coef_.shape[0]]


def _set_number_type(operator) -> None:
    n = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type.shape = [n, 1]


def _convert_number(scope, operator, container) -> None:
    (value,) = operator.outputs
    _linear(operator, container.target_opset, value).add_to(scope, container)


def _set_features_type(operator) -> None:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if _dtype(operator) is np.float64 else FloatTensorType
    n = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = kind([n, operator.raw_operator.components_.shape[0]])


def _convert_kernel(scope, operator, container) -> None:
    """N(k(x,c_1), …, k(x,c_m)), by differences, which no offset of X cancels."""
    from skl2onnx.algebra import onnx_ops as ops

    curve, opset = Curve.of("nystroem", operator.raw_operator), container.target_opset
    dtype, d = _dtype(operator), curve.landmarks.shape[1]
    version = {"op_version": opset}
    rows = ops.OnnxReshape(operator.inputs[0], np.array([-1, 1, d]), **version)
    apart = ops.OnnxSub(rows, curve.landmarks[None].astype(dtype), **version)
    parts = ops.OnnxAbs(apart, **version)
    if curve.order == 2:
        parts = ops.OnnxMul(apart, apart, **version)
    power = ops.OnnxReduceSum(parts, np.array([2]), keepdims=0, **version)
    scaled = ops.OnnxMul(power, np.array([-curve.gamma], dtype), **version)
    kernel = ops.OnnxExp(scaled, **version)
    names = {"output_names": operator.outputs[:1]}
    ops.OnnxMatMul(kernel, curve.matrix.T.astype(dtype), **version, **names).add_to(
        scope, container
    )


def _dtype(operator) -> type:
    from skl2onnx.common.data_types import DoubleTensorType

    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    return np.float64 if double else np.float32


def _linear(operator, opset, output):
    """XWᵀ + b, with one row of W for each number to return."""
    from skl2onnx.algebra import onnx_ops as ops

    model, dtype = operator.raw_operator, _dtype(operator)
    weights: np.ndarray = np.atleast_2d(host(model.coef_)).T.astype(dtype)
    product = ops.OnnxMatMul(operator.inputs[0], weights, op_version=opset)
    offsets: np.ndarray = np.atleast_1d(model.intercept_).astype(dtype)
    return ops.OnnxAdd(product, offsets, op_version=opset, output_names=[output])


def _convert(scope, operator, container) -> None:
    """scores = XWᵀ + b; the label is that of the highest, or of scores > 0."""
    from skl2onnx.algebra import onnx_ops as ops

    model, opset = operator.raw_operator, container.target_opset
    label, scores = operator.outputs
    values = _linear(operator, opset, scores)
    dtype = _dtype(operator)
    if model.coef_.shape[0] == 1:
        positive = ops.OnnxGreater(values, np.zeros(1, dtype), op_version=opset)
        number = ops.OnnxCast(positive, to=7, op_version=opset)  # 7 is int64
        number = ops.OnnxReshape(number, np.array([-1]), op_version=opset)
    else:
        number = ops.OnnxArgMax(values, axis=1, keepdims=0, op_version=opset)
    ops.OnnxGather(
        _labels(model), number, axis=0, op_version=opset, output_names=[label]
    ).add_to(scope, container)


def _labels(model) -> np.ndarray:
    """Class labels as ONNX knows them: int64 or text."""
    if model.classes_.dtype.kind in "iub":
        return model.classes_.astype(np.int64)
    if all(isinstance(label, str) for label in model.classes_.tolist()):
        return model.classes_.astype(str)
    raise ValueError(
        f"classes_ are of type {model.classes_.dtype}; ONNX knows labels that are "
        "whole numbers or text."
    )
