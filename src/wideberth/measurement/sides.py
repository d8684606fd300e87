"""One value and one standard error from errors that differ between the two sides."""

from __future__ import annotations

import numpy as np

from wideberth.problem.validation import float_array


def errors_from_sides(X, down, up) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard errors from asymmetric ones, x −down +up.

    Such a triple is read as a split normal law: half a Gaussian on each side of the
    most likely value x. Its mean is x + √(2/π)(up − down), and its variance is
    (1 − 2/π)(up − down)² + up·down; these two are returned. For boxes there is no need
    of it: `error_shape="box"` takes the pair (down, up) as it is.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The most likely values, NaN where there is none.
    down, up : array of shape (n_samples, n_features), or a number
        Errors to either side. Lower ones may be negative, as catalogues have them.

    Returns
    -------
    X, X_err : arrays of shape (n_samples, n_features)

    Examples
    --------
    >>> from wideberth import errors_from_sides
    >>> X, X_err = errors_from_sides([[2.0, 5.0]], [[0.1, 0.3]], [[0.1, 0.6]])
    >>> X.round(3).tolist(), X_err.round(3).tolist()
    ([[2.0, 5.239]], [[0.1, 0.461]])
    """
    values = float_array(X, "X")
    sides = []
    for name, side in {"down": down, "up": up}.items():
        own = float_array(side, name)
        if own.ndim and own.shape != values.shape:
            raise ValueError(
                f"{name} has shape {own.shape}; it must be a number, or have one error "
                f"for every cell of X, {values.shape}."
            )
        sides.append(own)
    low, high = np.abs(sides[0]), sides[1]
    if (high < 0).any():
        raise ValueError(
            f"up reaches down to {np.nanmin(high):g}; an upper error is not negative."
        )
    skew = high - low
    variance = (1 - 2 / np.pi) * skew**2 + low * high
    return values + np.sqrt(2 / np.pi) * skew, np.sqrt(variance + 0 * values)
