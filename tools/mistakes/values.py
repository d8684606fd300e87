"""Mistakes in noise shapes, primal and dual values, units and rounding."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "sample weights forgotten in the gap",
        "problem/problem.py",
        "    return weights * at_least(0.0, slack)\n",
        "    return at_least(0.0, slack)\n",
        "problem/test_problem.py::test_reported_rounding_covers_the_error_against_extended_precision",
    ),
    Mutant(
        "intercept penalty dropped from the dual value",
        "problem/problem.py",
        "value = total - 0.5 * float(w @ w) - penalty\n",
        "value = total - 0.5 * float(w @ w)\n",
        "problem/test_problem.py::test_reported_rounding_covers_the_error_against_extended_precision",
    ),
    Mutant(
        "α not clipped to its box",
        "problem/problem.py",
        "            alpha = xp.clip(alpha, 0.0, self.weights)\n",
        "            alpha = xp.clip(alpha, 0.0, np.inf)\n",
        "problem/test_problem.py::test_repair_satisfies_box_and_balance",
    ),
    Mutant(
        "noise helps instead of hurting",
        "problem/problem.py",
        "        slack += supports\n",
        "        slack -= supports\n",
        "problem/test_problem.py::test_worst_case_perturbation_attains_the_robust_hinge",
    ),
    Mutant(
        "noise of folded samples forgotten",
        "problem/problem.py",
        "- fold.balance * b + noise\n",
        "- fold.balance * b\n",
        "screening/test_screening.py::test_reduced_problem_has_the_values_of_the_full_one",
    ),
    Mutant(
        "unbalanced dual point accepted",
        "problem/problem.py",
        "        if self.intercept == 0 and not self._balanced(feasible):\n",
        "        if False:\n",
        "solvers/test_solve.py::test_a_dual_point_that_cannot_be_balanced_has_no_value",
    ),
    Mutant(
        "half the noise in w(α)",
        "problem/noise.py",
        "        return d * (1 - s / norm) if norm > s else np.zeros_like(d)",
        "        return d * (1 - 0.5 * s / norm) if norm > s else np.zeros_like(d)",
        "problem/test_noise.py",
    ),
    Mutant(
        "rounding of margins forgotten",
        "problem/rounding.py",
        "    error = active * (1 + gamma(64 + problem.chain))\n",
        "    error = 0.0\n",
        "problem/test_range.py::test_rounding_covers_cancellation_within_a_row",
    ),
    Mutant(
        "certified though rounding drowns the gap",
        "problem/certificate.py",
        "        return proven and self.gap <= tol * self.primal\n",
        "        return self.gap <= tol * self.primal\n",
        "problem/test_range.py::test_a_gap_that_rounding_drowns_proves_nothing",
    ),
    Mutant(
        "units not undone in w",
        "problem/presolve.py",
        "        return self.turned_back(w / self.sigma)\n",
        "        return self.turned_back(w)\n",
        "problem/test_range.py::test_units_are_changed_exactly",
    ),
    Mutant(
        "units not undone in the values",
        "problem/presolve.py",
        "        return value / self.sigma / self.sigma\n",
        "        return value\n",
        "problem/test_range.py::test_units_are_changed_exactly",
    ),
    Mutant(
        "radii beyond the range cut without a word",
        "problem/presolve.py",
        "self.cut is not None and self.problem.noise.support(solution.w) > 0",
        "False",
        "problem/test_range.py::test_what_float64_cannot_hold_is_refused_by_name",
    ),
    Mutant(
        "critical radius a tenth too small",
        "problem/problem.py",
        "0.0 if size == 0 else size / s if s > 0 else np.inf",
        "0.0 if size == 0 else 0.9 * size / s if s > 0 else np.inf",
        "problem/test_endpoints.py::test_model_dies_exactly_at_the_critical_radius",
    ),
]
