"""Mistakes about the smoothed hinge, and where it is chosen."""

from mistakes.mutant import Mutant

_FILE, _TESTS = "solvers/newton/smoothed.py", "solvers/test_smoothed.py"

MUTANTS = [
    Mutant(
        "smoothed: the band begins at the margin",
        _FILE,
        "slack / self.width + 0.5",
        "slack / self.width",
        _TESTS,
    ),
    Mutant(
        "smoothed: gradient without what noise adds",
        _FILE,
        "            out[:d] += gradient[d] * self.normal\n",
        "            pass\n",
        _TESTS,
    ),
    Mutant(
        "smoothed: folded samples left out of the gradient",
        _FILE,
        "self.total = lifted + self.folded",
        "self.total = lifted",
        _TESTS,
    ),
    Mutant(
        "smoothed: curvature of the noise of the wrong sign",
        _FILE,
        "(gram[d, d] - rate) * square",
        "(gram[d, d] + rate) * square",
        _TESTS,
    ),
    Mutant(
        "smoothed: rows curve as if noise did not move them",
        _FILE,
        "            matrix[:, :d] += across\n            matrix[:d, :] += across.T\n",
        "",
        _TESTS,
    ),
    Mutant(
        "smoothed: curvature in conjugate gradients without that of the noise",
        _FILE,
        "            if rate:\n",
        "            if False:\n",
        _TESTS,
    ),
    Mutant(
        "smoothed: sampled rows weigh no more than others",
        _FILE,
        "weights[drawn] / np.minimum(chance[drawn], 1.0)",
        "weights[drawn]",
        _TESTS,
    ),
    Mutant(
        "smoothed: the step of a sample taken for that of all rows",
        _FILE,
        "        if chosen is inside:\n",
        "        if True:\n",
        _TESTS,
    ),
    Mutant(
        "smoothed: a Gram matrix of all rows of the band after all",
        _FILE,
        "        if spared <= _SOLUTION * inside.size:\n",
        "        if True:\n",
        _TESTS,
    ),
    Mutant(
        "smoothed: margins of all steps certified with their rounding",
        _FILE,
        "problem.at(self.point.w, self.point.b), dual)",
        "self.point, dual)",
        _TESTS,
    ),
    Mutant(
        "smoothed: w = 0 taken for a smooth point",
        _FILE,
        "        if self.noisy and self.point.omega <= 0:",
        "        if False:",
        _TESTS,
    ),
    Mutant(
        "smoothed: rows of a working set settled by small moves",
        _FILE,
        "    def _leave_behind(self, work, engine):\n        return work, engine\n",
        "    pass\n",
        _TESTS,
    ),
    Mutant(
        "smoothed: taken where a sample is quicker",
        "solvers/newton/solver.py",
        "    return not is_sampled(problem) or size",
        "    return True or size",
        _TESTS,
    ),
    Mutant(
        "smoothed: sweeps keep what the smoothed hinge does quicker",
        "solvers/registry.py",
        "easy = _EASY_QUICK if along_path or smoothing_pays(problem) else _EASY",
        "easy = _EASY",
        _TESTS,
    ),
    Mutant(
        "choice: any noise makes sweeps easy",
        "solvers/registry.py",
        "    return curvature * LITTLE >= 1.0",
        "    return True",
        "solvers/test_coordinate.py",
    ),
    Mutant(
        "smoothed: sweeps hand over whatever is in doubt",
        "solvers/coordinate/solver.py",
        "        if 2 * active.size > n:\n            return False\n",
        "",
        "solvers/test_coordinate.py",
    ),
    Mutant(
        "smoothed: sweeps go on however slow",
        "solvers/coordinate/solver.py",
        "            if self._few_rows_may_finish(active):\n",
        "            if False:\n",
        "solvers/test_coordinate.py",
    ),
    Mutant(
        "smoothed: sweeps hand over rows that are settled",
        "solvers/coordinate/solver.py",
        "        band[free[active]] = np.inf\n",
        "        band[:] = np.inf\n",
        "solvers/test_coordinate.py",
    ),
]
