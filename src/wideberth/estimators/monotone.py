"""Steps that treat every feature by itself and never turn back, known by their names.

No number of points proves that a function is monotone between them, so a step counts
as monotone only if it is one of those listed here: a function of NumPy or SciPy in a
`FunctionTransformer`, a transformer of scikit-learn, or a `ColumnTransformer` of such.
They are known by their exact class, for a subclass may do otherwise.

An interval from a to b becomes one from g(a) to g(b), the other way round where g
decreases: `images.py`. Functions that jump, such as bins, reach no point between two
values, but a linear function is largest at the ends all the same.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy import special
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

#: Increasing wherever they are numbers, and nan or infinite elsewhere.
_INCREASING = (
    *(np.log, np.log1p, np.log2, np.log10, np.exp, np.expm1, np.exp2),
    *(np.sqrt, np.cbrt, np.sinh, np.tanh, np.arcsin, np.arctan),
    *(np.arcsinh, np.arccosh, np.arctanh),
    *(special.expit, special.logit, special.erf, special.ndtr, special.ndtri),
)
_DECREASING = (np.arccos, special.erfc)
#: Affine, so that they bend nothing unless they clip.
_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
_BENDING = (Binarizer, PowerTransformer, QuantileTransformer)


def bends(step) -> bool:
    """Whether a step is known to be monotone, and is not affine.

    What a ColumnTransformer leaves of its columns is known once it is fitted.
    """
    if type(step) is ColumnTransformer:
        parts = [part for _, part, _ in step.transformers]
        if hasattr(step, "transformers_"):
            parts = [part for part, _, _ in _blocks(step)]
        known = all(map(_sign, parts)) and not step.transformer_weights
        return known and any(map(bends, parts))
    affine = type(step) in _SCALERS and not getattr(step, "clip", False)
    same = type(step) is FunctionTransformer and step.func is None
    return _sign(step) != 0 and not affine and not same and step != "passthrough"


def directions(step, n_features: int) -> sp.csr_array:
    """1 where an output increases with a feature, −1 where it decreases, else 0."""
    if type(step) is not ColumnTransformer:
        return sp.csr_array(_sign(step) * sp.eye_array(n_features))
    blocks = _blocks(step)
    found = sp.lil_array((max(out.stop for _, _, out in blocks), n_features))
    for part, inputs, outputs in blocks:
        signs = directions(part, len(inputs)).diagonal()
        found[np.arange(outputs.start, outputs.stop), inputs] = signs
    return found.tocsr()


def domain(step, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest values that a step takes without refusing the whole table.

    Other steps give nan where they are not defined. Powers stay within the root of the
    largest number, which leaves room for the scales behind them.
    """
    low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    if type(step) is ColumnTransformer:
        for part, inputs, _ in _blocks(step):
            low[inputs], high[inputs] = domain(part, len(inputs))
    if type(step) is PowerTransformer:
        far, power = np.sqrt(np.finfo(np.float64).max), np.nan_to_num(step.lambdas_)
        high = far ** (1 / np.maximum(power, 1.0))
        low = -(far ** (1 / np.maximum(2 - power, 1.0)))
        if step.method == "box-cox":
            low = far ** (1 / np.minimum(power, -1.0))
    return low, high


def _sign(step) -> int:
    """1 for a step that increases, −1 for one that decreases, 0 for one not known."""
    if isinstance(step, str):
        return int(step == "passthrough")
    if type(step) is FunctionTransformer:
        if step.func is None:
            return 1
        if step.kw_args:
            return 0
        up = any(step.func is function for function in _INCREASING)
        return int(up) - int(any(step.func is function for function in _DECREASING))
    if type(step) is KBinsDiscretizer:
        return int(step.encode == "ordinal")
    return int(type(step) in _SCALERS + _BENDING)


def _blocks(step: ColumnTransformer) -> list[tuple]:
    """Each part with the features it reads and the outputs it makes."""
    return [
        (part, np.asarray(step._transformer_to_input_indices[name], dtype=int), outputs)
        for name, part, _ in step.transformers_
        if (outputs := step.output_indices_.get(name)) is not None
        and outputs.stop > outputs.start
    ]
