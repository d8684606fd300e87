"""Mistakes in solvers, paths and the front door."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "final pass over all samples skipped",
        "solvers/control.py",
        "        if found.point.margins.size != full.n:\n",
        "        if False:\n",
        "test_control.py",
    ),
    Mutant(
        "reduced problem's gap taken for the whole one's",
        "solvers/control.py",
        "return self.found.meets(tol) and self.finish().meets(tol)",
        "return self.found.meets(tol)",
        "test_control.py",
    ),
    Mutant(
        "warm start taken for the solution",
        "solve.py",
        "            if start.meets(control.tol):\n",
        "            if True:\n",
        "test_solve.py::test_a_poor_warm_start_is_only_a_start",
    ),
    Mutant(
        "dual carried along a path without its factor",
        "sequence.py",
        "problem.dual_at(alpha, combined=ratio * dual.d),",
        "problem.dual_at(alpha, combined=dual.d),",
        "test_path.py::test_a_carried_solution_has_the_gap_of_the_theory",
    ),
    Mutant(
        "every point of a path called converged",
        "sequence.py",
        "            certificate.proves(control.tol),\n",
        "            True,\n",
        "test_path.py::test_points_that_do_not_converge_are_reported_together",
    ),
]
