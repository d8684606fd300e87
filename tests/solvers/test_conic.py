import pytest
from hypothesis import given, settings

from problems import INTERCEPTS, PENALISED_SHAPES, SHAPES, make_problem, problems
from wideberth.solvers.conic import PAPER_OPTIONS, solve_conic


# The program as it stands: `solve` brings data of other units to size 1 first.
@given(
    problems(
        shapes=PENALISED_SHAPES,
        log_C=(-3, 2),
        max_n=25,
        units=(1.0,),
        intercepts=INTERCEPTS,
        norm_penalties=(0.0, 0.02),
    )
)
@settings(max_examples=60, deadline=None)
def test_oracle_certifies_every_shape_and_intercept(problem):
    result = solve_conic(problem)
    assert result.certificate.gap <= (
        1e-6 * result.certificate.primal + 2 * result.certificate.rounding + 1e-9
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_scs_and_clarabel_agree(shape, intercept):
    problem = make_problem(2, shape=shape, intercept=intercept, radius=0.2)
    accurate = solve_conic(problem)
    rough = solve_conic(problem, backend="scs", eps_abs=1e-8, eps_rel=1e-8)
    assert accurate.certificate.relative_gap < 1e-9
    assert rough.certificate.primal == pytest.approx(
        accurate.certificate.primal, rel=1e-4
    )


def test_paper_options_run_on_scs():
    result = solve_conic(make_problem(0), backend="scs", **PAPER_OPTIONS)
    assert result.certificate.relative_gap < 1e-2


def test_unknown_backend_is_named():
    with pytest.raises(ValueError, match="backend='mosek'"):
        solve_conic(make_problem(0), backend="mosek")
