"""A call of `solve` proves its answer once."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from walk import breast_cancer, walk


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_solve_computes_one_certificate(fit_intercept):
    found = breast_cancer(fit_intercept=fit_intercept)
    assert found["certificates"] == 1
    assert found["primal_points"] == 1
    assert found["dual_points"] <= 1


def test_a_walk_counts_functions_of_the_package_once():
    from wideberth.problem.rows import gamma

    found = walk(lambda: [gamma(3), gamma(4), len("other")])
    assert found["names"] == ["problem/rows.py:gamma"]
    assert found["certificates"] == 0
