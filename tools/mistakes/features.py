"""Mistakes in proving features zero."""

from mistakes.mutant import Mutant

_FILE = "screening/multipliers.py"
_TESTS = "screening/test_features.py::test_"
_WEAK = _TESTS + "the_right_side_is_above_the_truth_for_all_multipliers"
_ROWS = _TESTS + "rows_of_known_sign_hold_at_the_solution"

MUTANTS = [
    Mutant(
        "budget of complementarity a quarter of r²",
        _FILE,
        "budget = radius**2 + 2 * off",
        "budget = radius**2 / 4 + 2 * off",
        _TESTS + "no_term_of_the_budget_is_wasted",
    ),
    Mutant(
        "signs known where the ball does not prove them",
        _FILE,
        "known = np.flatnonzero(np.abs(center) > reach)",
        "known = np.flatnonzero(np.abs(center) > 0.1 * reach)",
        _ROWS,
    ),
    Mutant(
        "noise of a row of known sign with the other sign",
        _FILE,
        "rows, beyond = z - signs * e,",
        "rows, beyond = z + signs * e,",
        _ROWS,
    ),
    Mutant(
        "folded noise of a row of known sign with the other sign",
        _FILE,
        "- d[known] + signs * t[known]",
        "- d[known] - signs * t[known]",
        _ROWS,
    ),
    Mutant(
        "saturated samples forgotten by features",
        _FILE,
        "d, t = fold.d, small.sample_noise.folded_box(fold)",
        "d, t = 0 * fold.d, small.sample_noise.folded_box(fold)",
        _WEAK,
    ),
    Mutant(
        "folded noise counted twice by features",
        _FILE,
        "d, t = fold.d, small.sample_noise.folded_box(fold)",
        "d, t = fold.d, 2 * small.sample_noise.folded_box(fold)",
        _WEAK,
    ),
    Mutant(
        "balance of folded samples forgotten by features",
        _FILE,
        "np.append(beyond, b - extra * balance)",
        "np.append(beyond, b)",
        _ROWS,
    ),
    Mutant(
        "penalised intercept in the wrong unit for features",
        _FILE,
        "b = 0.5 * (point.b + dual.b) * np.sqrt(intercept)",
        "b = 0.5 * (point.b + dual.b) * intercept",
        _ROWS,
    ),
    Mutant(
        "price of w* − m halved",
        _FILE,
        "level += (1 + 2 * share) * squares[left] / (4 * nu)",
        "level += (1 + 2 * share) * squares[left] / (8 * nu)",
        _WEAK,
    ),
    Mutant(
        "price of the budget halved",
        _FILE,
        "level = fixed[left] + hinges(nu, left) + nu * force",
        "level = fixed[left] + hinges(nu, left) + nu * force / 2",
        _WEAK,
    ),
    Mutant(
        "free samples half removed for features",
        _FILE,
        "return c @ np.maximum(moved, 0.0, out=moved) - nu * loss",
        "return 0.5 * c @ np.maximum(moved, 0.0, out=moved) - nu * loss",
        _WEAK,
    ),
    Mutant(
        "features tested for one sign alone",
        _FILE,
        "above[both] = self._proves(J[both], -1.0, -z[:, both] - e[:, both])",
        "above[both] = True",
        _TESTS + "no_feature_and_no_sample_is_ever_wrong",
    ),
    Mutant(
        "noise of stored cells counted twice",
        _FILE,
        "h = sign * z - e\n",
        "h = sign * z - 4 * e\n",
        _TESTS + "what_is_stored_is_never_wrong",
    ),
    Mutant(
        "rounding not allowed for in features",
        _FILE,
        "fixed = fixed + (1 + length) * error",
        "fixed = fixed + 0 * error",
        _TESTS + "the_box_alone_is_above_its_exact_value",
    ),
    Mutant(
        "features of a smaller problem not renumbered",
        "screening/features.py",
        "zero[kept[news]] = True",
        "zero[np.flatnonzero(news)] = True",
        _TESTS + "no_feature_and_no_sample_is_ever_wrong",
    ),
    Mutant(
        "norm penalty lost with features",
        "problem/folded.py",
        "replace(self, d=self.d[columns],",
        "replace(self, s=0.0, d=self.d[columns],",
        _TESTS + "a_problem_of_some_features_is_that_of_all_where_the_rest_is_zero",
    ),
]
