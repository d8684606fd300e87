"""Mistakes about rows that are merged into cells."""

from mistakes.mutant import Mutant

_TESTS = "solvers/test_cells.py"

MUTANTS = [
    Mutant(
        "cells: rows near the margin merged as well",
        "solvers/tall/cells.py",
        "weights = far * self.problem.weights[rows]",
        "weights = self.problem.weights[rows]",
        _TESTS,
    ),
    Mutant(
        "cells: labels left out of their sums",
        "solvers/tall/cells.py",
        "entries = weights * y, own,",
        "entries = weights, own,",
        _TESTS,
    ),
    Mutant(
        "cells: α of a cell taken for its share",
        "solvers/tall/cells.py",
        "np.minimum(own / self.totals, 1.0)",
        "np.minimum(own, 1.0)",
        _TESTS,
    ),
    Mutant(
        "cells: both sides of the margin in one",
        "solvers/tall/cells.py",
        "(2 * (2 * kind + (y > 0)) + (slack > 0))",
        "(2 * (2 * kind + (y > 0)))",
        _TESTS,
    ),
    Mutant(
        "cells: means of radii forgotten",
        "solvers/tall/cells.py",
        "weights, self.noise / weights",
        "weights, 0.0 * weights",
        _TESTS,
    ),
    Mutant(
        "cells: nothing known of the rounding of their sums",
        "solvers/tall/cells.py",
        "        mass = summed(mul, weights, norms) * (1 + gamma(chain))",
        "        mass = 0.0",
        _TESTS,
    ),
    Mutant(
        "cells: rows folded in their place",
        "solvers/tall/selection.py",
        "question = replace(question, kinds=self._kinds)\n",
        "self._kinds = None\n",
        _TESTS,
    ),
    Mutant(
        "working sets: a fifth of the best way gone",
        "solvers/tall/line_search.py",
        "return 0.5 * (left + right)",
        "return 0.1 * (left + right)",
        "solvers/test_tied.py",
    ),
    Mutant(
        "cells: features of near rows counted without what rows stand for",
        "solvers/tall/cells.py",
        "np.stack([weights, weights * near]) @ (X * X)",
        "np.stack([0 * weights + 1, near]) @ (X * X)",
        _TESTS,
    ),
    Mutant(
        "cells: needed by no feature",
        "solvers/tall/cells.py",
        "return bool((held < LITTLE * share * whole).any())",
        "return bool((held < 0 * whole).any())",
        _TESTS,
    ),
]
