"""SCS with the options of the screening paper's baseline."""

from benchmarks.solvers import clarabel, scs

NAME = "SCS, paper's options"
LADDER = scs.LADDER
long_on = clarabel.long_on


def solve(case, tol):
    from wideberth.solvers.conic import PAPER_OPTIONS

    return scs.solve(case, tol, **PAPER_OPTIONS)
