"""Values that are known to lie between two ends: limits of detection, rounding."""

from __future__ import annotations

import numpy as np

from wideberth.noise.reading import check_error_shape
from wideberth.problem.validation import float_array


def errors_from_limits(
    X, X_err=None, *, censored, low, high, error_shape="ellipsoid"
) -> tuple[np.ndarray, np.ndarray]:
    """Values and errors where some cells are only known to lie between two ends.

    A signal below the limit of detection is not missing: it is small. Such a cell gets
    the middle of its interval as its value. Its error is half the width of the interval
    for `error_shape="box"`, which says exactly what is known; and for "ellipsoid" the
    standard deviation of a uniform law, width/√12. That is an approximation: it takes
    all values in between for equally likely, and `TrueFeatures` goes on as if the error
    were Gaussian, so a value outside the interval is not excluded.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Measurements; what stands in censored cells does not matter.
    X_err : array of shape (n_samples, n_features) or float, optional
        Errors of the others; by default they are exact.
    censored : array of bool of shape (n_samples, n_features)
        Which cells are known by their interval only.
    low, high : float or array that broadcasts to the shape of X
        Ends of the intervals, such as 0 and the limit of detection of each feature.
        Both must be finite: say what is the least that is possible.
    error_shape : {"ellipsoid", "box"}, default="ellipsoid"
        What the errors are for.

    Returns
    -------
    X, X_err : arrays of shape (n_samples, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import errors_from_limits
    >>> X = np.array([[3.1], [0.5], [2.2]])  # 0.5 stands for "below 0.5"
    >>> X, X_err = errors_from_limits(X, 0.1, censored=X <= 0.5, low=0.0, high=0.5)
    >>> X.ravel().tolist(), X_err.round(3).ravel().tolist()
    ([3.1, 0.25, 2.2], [0.1, 0.144, 0.1])
    """
    check_error_shape(error_shape)
    values = float_array(X, "X").astype(np.float64)
    mask = np.asarray(censored)
    if mask.dtype != bool or mask.shape != values.shape:
        raise ValueError(
            f"censored has shape {mask.shape} and dtype {mask.dtype}; it must be a "
            f"table of True and False, one for every cell of X, {values.shape}."
        )
    errors = np.broadcast_to(
        0.0 if X_err is None else float_array(X_err, "X_err"), values.shape
    )
    ends = []
    for name, end in {"low": low, "high": high}.items():
        try:
            ends.append(np.broadcast_to(float_array(end, name), values.shape)[mask])
        except ValueError:
            raise ValueError(
                f"{name} has shape {np.shape(end)}; it must be a number, one for each "
                f"feature, or one for every cell of X, {values.shape}."
            ) from None
    bottom, top = ends
    wrong = ~(np.isfinite(bottom) & np.isfinite(top) & (bottom <= top))
    if wrong.any():
        row, column = np.argwhere(mask)[int(np.flatnonzero(wrong)[0])]
        raise ValueError(
            f"The cell at row {row}, column {column} lies between low="
            f"{bottom[wrong][0]:g} and high={top[wrong][0]:g}; both ends must be "
            "finite, and the lower one first. Give the least and the largest value "
            "that are possible."
        )
    values, errors = values.copy(), errors.astype(np.float64)
    values[mask] = 0.5 * (bottom + top)
    width = top - bottom
    errors[mask] = width / 2 if error_shape == "box" else width / np.sqrt(12)
    return values, errors
