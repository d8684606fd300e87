"""Changes of problem that keep its solution: other units."""

import numpy as np
import pytest

from polyhedral import make_arguments
from wideberth import Box, CrossPolytope, path, solve

# -- units, with a norm penalty --------------------------------------------------------

SCALES = np.array([1.0, 0.0, 2.0, 0.5, 1.5])
#: Noise in units of the data; the last is that of boxes per cell.
NOISES = ["l2", "linf", "l1", "scales", "box", "cross-polytope", "cells"]


def stated(noise, X, unit=1.0, stretch=1.0):
    """Noise for data in multiples of `unit`, its scales in multiples of `stretch`."""
    if noise == "cells":
        errors = np.abs(np.sin(np.arange(X.size))).reshape(X.shape)
        errors *= unit * stretch
        return {"X_err": errors, "error_shape": "box", "radius": 0.2 / stretch}
    scaled = {"scales": np.asarray, "box": Box, "cross-polytope": CrossPolytope}
    if noise not in scaled:
        stretch = 1.0
    shape = scaled[noise](stretch * SCALES) if noise in scaled else noise
    return {"noise": shape, "radius": 0.1 * unit / stretch}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("intercept_penalty", [0.0, 2.0])
@pytest.mark.parametrize("unit", [2.0**60, 2.0**-70, 1e40, 1e-40])
def test_units_of_the_data_do_not_matter(noise, unit, intercept_penalty):
    X, y, _ = make_arguments(0)
    ours = {"norm_penalty": 1.5, "C": 1.0, "intercept_penalty": intercept_penalty}
    theirs = {
        "norm_penalty": 1.5 / unit,
        "C": unit**-2,
        "intercept_penalty": intercept_penalty * unit**-2,
    }
    one = solve(X, y, tol=1e-8, **ours, **stated(noise, X))
    two = solve(unit * X, y, tol=1e-8, **theirs, **stated(noise, X, unit))
    assert two.converged
    assert two.primal * unit**2 == pytest.approx(one.primal, rel=2e-8)
    np.testing.assert_allclose(two.w * unit, one.w, rtol=1e-3, atol=1e-3)
    assert two.b == pytest.approx(one.b, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("noise", ["scales", "box", "cross-polytope", "cells"])
@pytest.mark.parametrize("stretch", [1e20, 1e-20, 2.0**50])
@pytest.mark.parametrize("unit", [1.0, 1e20])
def test_units_of_the_noise_do_not_matter(noise, stretch, unit):
    """Ω is `stretch` times as large, so radius and penalty are as much smaller.

    The penalty of boxes per cell is that of ‖w‖₁, whatever the boxes.
    """
    X, y, _ = make_arguments(1)
    per_norm = 1.0 if noise == "cells" else stretch
    penalties = {"norm_penalty": 1.5 / unit / per_norm, "C": unit**-2}
    one = solve(X, y, tol=1e-8, norm_penalty=1.5, **stated(noise, X))
    two = solve(unit * X, y, tol=1e-8, **penalties, **stated(noise, X, unit, stretch))
    assert two.converged
    assert two.primal * unit**2 == pytest.approx(one.primal, rel=2e-8)
    np.testing.assert_allclose(two.w * unit, one.w, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("noise", ["linf", "box", "l2", "cells"])
@pytest.mark.parametrize("unit", [1.0, 1e40, 1e-40])
def test_levels_of_a_path_are_in_the_units_of_the_data(noise, unit):
    X, y, _ = make_arguments(2)
    options, penalties = stated(noise, X, unit), [2.0 / unit, 0.5 / unit, 0.0]
    found = path(
        unit * X, y, Cs=[unit**-2], norm_penalties=penalties, radii=[1.0], **options
    )
    for point in found:
        how = options | {"norm_penalty": point.norm_penalty}
        cold = solve(unit * X, y, C=unit**-2, **how)
        assert point.objective == pytest.approx(cold.primal, rel=2e-6)


def test_a_penalty_out_of_range_is_refused_in_a_sentence():
    X, y, _ = make_arguments(3)
    with pytest.raises(ValueError, match=r"norm_penalty=.*out of the range of float64"):
        solve(1e150 * X, y, C=1e-300, noise="linf", norm_penalty=1e300)
