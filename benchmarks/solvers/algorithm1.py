"""Algorithm 1 of the screening paper, repaired; its accuracy is fixed at 1e-6."""

from benchmarks.solvers import clarabel, no_intercept

NAME = "Algorithm 1, repaired"
LADDER = (1e-6,)
long_on = clarabel.long_on


def refuses(cases):
    return no_intercept(cases)


def solve(case, tol):
    from wideberth.problem import Problem
    from wideberth_paper.algorithm1 import run_algorithm1

    problem = Problem.from_data(case.X, case.y, C=case.C, radius=case.radius)
    return run_algorithm1(problem, "repaired").w
