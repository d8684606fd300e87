"""Mistakes in what is read in chunks."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "one chunk left out of the certificate",
        "scale/work.py",
        "        hinge = math.fsum(self._hinges)\n",
        "        hinge = math.fsum(self._hinges[1:])\n",
        "test_scale.py::test_the_certificate_is_that_of_the_whole_problem",
    ),
    Mutant(
        "chunks' noise at its smallest in LB",
        "scale/passes.py",
        "            margins - swing - problem.radii * (omega + spread),",
        "            margins + swing - problem.radii * (omega - spread),",
        "test_scale.py::test_what_is_proven_of_rows_is_true",
    ),
]
