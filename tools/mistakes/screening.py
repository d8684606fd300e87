"""Mistakes in regions, bounds and decisions."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "saturated samples dropped from the reduced problem",
        "screening.py",
        "            folded = fold if folded is None else folded + fold\n",
        "            del fold\n",
        "test_screening.py::test_reduced_problem_has_the_values_of_the_full_one",
    ),
    Mutant(
        "GAP radius √(2G) → √G/4",
        "regions.py",
        "radius = np.sqrt(2 * gap) * (1 + gamma(4))",
        "radius = np.sqrt(gap) / 4",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
    Mutant(
        "midpoint radius √(G − ¼‖·‖²) → a quarter",
        "regions.py",
        "radius = np.sqrt(max(gap - 0.25 * apart**2, 0.0)) * (1 + gamma(8))",
        "radius = np.sqrt(max(gap - 0.25 * apart**2, 0.0)) / 4",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
    Mutant(
        "sign flip in the separable UB",
        "bounds.py",
        "            sample.margins + swing - sample.radii * max(omega - spread, 0.0),",
        "            sample.margins - swing - sample.radii * max(omega - spread, 0.0),",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
    Mutant(
        "sign flip in the joint UB",
        "bounds.py",
        "rho * center * cosine + r * np.sqrt(_positive(inside))",
        "rho * center * cosine - r * np.sqrt(_positive(inside))",
        "test_screening.py::test_joint_test_is_the_exact_range_over_a_ball",
    ),
    Mutant(
        "LB with the noise at its smallest",
        "bounds.py",
        "            sample.margins - swing - sample.radii * (omega + spread),",
        "            sample.margins - swing - sample.radii * (omega - spread),",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
    Mutant(
        "rounding not allowed for in regions",
        "certificate.py",
        "        return max(self.gap, 0.0) + self.rounding\n",
        "        return max(self.gap, 0.0)\n",
        "test_range.py::test_regions_allow_for_the_rounding_of_the_gap",
    ),
    Mutant(
        "bracket of a free intercept the wrong way round",
        "screening.py",
        "    worst = np.where(positive, b_low, -b_high)\n",
        "    worst = np.where(positive, b_high, -b_low)\n",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
]
