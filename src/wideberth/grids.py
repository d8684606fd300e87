"""Grids of C and radius: what users give, and the range of C by default (theory §2)."""

from __future__ import annotations

import numpy as np

from wideberth.problem.changes import Presolved
from wideberth.problem.endpoints import saturation_scale
from wideberth.problem.statement import Statement, check_ramp
from wideberth.problem.validation import (
    check_number,
    check_per_sample,
    refuse_masked,
    short,
)

#: Largest move of a sample's own margin, c_i‖x_i‖², on the default path: a choice.
_LARGEST_PUSH = 100.0
#: Least ratio of the ends of the default path, where the rules for them leave less: a
#: choice.
_LEAST_SPAN = 1e3


def C_range(presolved: Presolved) -> tuple[float, float]:
    """Ends of the default path, as factors on the weights.

    The lower one is where every sample saturates (`saturation_scale`). With a free
    intercept and classes of different weight that is nowhere; then the heavier class is
    weighted down evenly to match first. The upper one is 100 / mean ‖x_i‖², weighted,
    where a single sample could move its own margin by 100: free of the data's scale.
    """
    problem = presolved.problem
    start = saturation_scale(problem.with_weights(problem.repair(problem.weights)))
    squares = 0.0
    if problem.weights.any():
        squares = float(np.average(problem.rows.norms() ** 2, weights=problem.weights))
    end = presolved.sample_weight(_LARGEST_PUSH / squares) if squares > 0 else 1.0
    if not 0 < start < np.inf:
        start = end / _LEAST_SPAN**2
    return start, max(end, _LEAST_SPAN * start)


def read_radii(statement: Statement, radii) -> np.ndarray:
    """Check factors on the radius stated, or radii where none is."""
    if radii is None:
        radii = statement.radius_or_default if statement.radius is None else 1.0
    more = " Radii that differ from sample to sample go to `radius`."
    return _listed(radii, "radii", more)


def _listed(given, name: str, more: str = "") -> np.ndarray:
    """Numbers ≥ 0, one or a list of them."""
    refuse_masked(given, name)
    values = np.atleast_1d(np.asarray(given))
    if values.ndim != 1 or not values.size:
        raise ValueError(
            f"{name} has shape {np.shape(given)}; it must be a list of numbers ≥ 0."
            + more
        )
    return np.array(check_per_sample(values, values.size, name))


def read_penalties(statement: Statement, norm_penalties) -> np.ndarray:
    """Check norm penalties; the one stated where there is no list."""
    if norm_penalties is None:
        return np.array([float(statement.norm_penalty)])
    return _listed(norm_penalties, "norm_penalties")


def read_ramps(statement: Statement, ramps) -> np.ndarray:
    """Check levels of the ramp, −∞ is the hinge; the one stated without a list."""
    if ramps is None:
        return np.array([statement.level])
    if np.ndim(ramps) != 1 or not len(ramps):
        raise ValueError(
            f"ramps={short(ramps)} must be a list of numbers ≤ 0 (None: the hinge)."
        )
    return np.array([check_ramp(each) for each in np.asarray(ramps).tolist()])


def read_levels(
    statement: Statement, radii=None, norm_penalties=None, ramps=None
) -> np.ndarray:
    """Levels of a grid, rows of radius, norm penalty and ramp, one of which varies."""
    levels = {
        "radii": read_radii(statement, radii),
        "norm_penalties": read_penalties(statement, norm_penalties),
        "ramps": read_ramps(statement, ramps),
    }
    several = [name for name, values in levels.items() if values.size > 1]
    if len(several) > 1:
        sizes = " and ".join(f"{levels[name].size} {name}" for name in several)
        raise ValueError(
            f"{sizes} are given; a path varies one of them beside C. Give one value of "
            "the others."
        )
    return np.column_stack(np.broadcast_arrays(*levels.values()))


def read_Cs(Cs, problems: list[Presolved]) -> np.ndarray:
    """Check values of C, or space as many over the ranges of the problems."""
    if isinstance(Cs, int | np.integer) and not isinstance(Cs, bool):
        if Cs < 1:
            raise ValueError(f"Cs={Cs!r} must be a whole number ≥ 1, or values of C.")
        ranges = np.array([C_range(problem) for problem in problems])
        return np.geomspace(ranges[:, 0].min(), ranges[:, 1].max(), int(Cs))
    refuse_masked(Cs, "Cs")
    values = np.asarray(Cs)
    if values.ndim != 1 or not values.size or values.dtype.kind not in "iuf":
        raise ValueError(
            f"Cs={Cs!r} must be a whole number ≥ 1, how many values, or a list of "
            "numbers > 0, the values."
        )
    return np.array(
        [check_number(value, "Cs", positive=True) for value in values.tolist()]
    )
