"""Mistakes in sets per sample: error bars, their dual points and their tests."""

from mistakes.mutant import Mutant

_SUMS = "problem/error_bars/sums.py"
_SETS = "problem/error_bars/sets.py"
_CELLS = "problem/error_bars/cells.py"
_COVARIANCES = "problem/error_bars/covariances.py"
_TESTS = "problem/test_error_bars.py::"
_BRUTE = f"{_TESTS}test_supports_and_the_points_that_attain_them_are_those_of_the_sets"
_SLOPES = f"{_TESTS}test_gradients_and_curvature_are_derivatives"
_SHORTEST = f"{_TESTS}test_the_shortest_v_is_nearly_found_and_never_shorter_than_it_is"
_OVERSHOOT = f"{_TESTS}test_steps_that_overshoot_still_give_a_point_of_the_sets"
_NULL = f"{_TESTS}test_the_bracket_of_the_null_model_holds_it"
_EXACT = f"{_TESTS}test_values_are_within_their_bounds_of_those_in_rational_numbers"
_FOLDS = f"{_TESTS}test_folded_samples_leave_all_values_as_they_are"
_SHARED = f"{_TESTS}test_errors_that_all_samples_share_are_a_shape_of_noise"
_BALLS = "screening/test_own_sets.py::test_bounds_hold_at_every_point_of_a_ball"
_NAMED = "solvers/test_measured.py::test_errors_that_cannot_be_are_named"

MUTANTS = [
    Mutant(
        "steps that end in no number kept",
        "solvers/measured/engine.py",
        "        if not possible:\n            vars(self).update(before)\n",
        "        pass\n",
        "solvers/test_measured.py::test_a_step_that_ends_in_no_number_is_taken_back",
    ),
    Mutant(
        "error bars: a ball as large as the widest feature",
        _CELLS,
        "        return float(self._totals(a).min(initial=",
        "        return float(self._totals(a).max(initial=",
        f"{_TESTS}test_a_ball_that_is_said_to_be_inside_is",
    ),
    Mutant(
        "error bars: null model proven up to the edge of the sets",
        "problem/measured.py",
        "        left = 1 - 4 * g - self.noise.gauge(pushes, d, 1.0)[1]\n",
        "        left = 1.0\n",
        f"{_TESTS}test_no_model_is_certain_only_well_inside_the_sets",
    ),
    Mutant(
        "error bars: rounding of d left out where no model is certain",
        "problem/measured.py",
        "        moved = d_error + balance_rounding(self, total) * reach\n",
        "        moved = balance_rounding(self, total) * reach\n",
        f"{_TESTS}test_no_model_is_certain_only_well_inside_the_sets",
    ),
    Mutant(
        "error bars: correlations scaled back by one side alone",
        _COVARIANCES,
        "        roots = scales[:, :, None] * vectors * roots[:, None, :]\n",
        "        roots = vectors * roots[:, None, :]\n",
        _BRUTE,
    ),
    Mutant(
        "error bars: dual point of others at their old errors",
        "solvers/measured/rounds.py",
        "        problem = replace(problem, folded=model.settled(problem.folded))\n",
        "        problem = replace(problem, folded=problem.folded)\n",
        "solvers/test_error_bars_in_chunks.py::"
        "test_a_dual_point_that_is_renewed_is_one_of_the_whole_problem",
    ),
    Mutant(
        "error bars: a right side without the corrector's second order",
        "solvers/measured/rounded.py",
        "            last += self._sum(block, theta[J] * (lead[0, :] - lead[1, :]))\n",
        "",
        "solvers/test_measured.py::test_steps_of_newton_solve_their_equations",
    ),
    Mutant(
        "error bars: gradient of a box away from w",
        _CELLS,
        "        return self.block(rows) * np.sign(w)\n",
        "        return -self.block(rows) * np.sign(w)\n",
        _BRUTE,
    ),
    Mutant(
        "error bars: standard errors not squared",
        _CELLS,
        "        return cls(_as_table(np.square(errors, dtype=np.float64), passes))\n",
        "        return cls(_as_table(np.float64(1) * errors, passes))\n",
        _SHARED,
    ),
    Mutant(
        "error bars: curvature without what turns",
        _CELLS,
        "        return np.diag(self.table.combine(k)) - w[:, None] * outer * w\n",
        "        return np.diag(self.table.combine(k))\n",
        _SLOPES,
    ),
    Mutant(
        "error bars: sizes of the last point alone",
        _SUMS,
        "        both = [_larger(old, new) for old, new in "
        "zip(sizes, ahead, strict=True)]\n",
        "        both = sizes\n",
        _OVERSHOOT,
    ),
    Mutant(
        "error bars: the next w taken for a dual point",
        _SUMS,
        "        v, sizes = d - pushes.pull(w, both), ahead\n",
        "        v, sizes = w, ahead\n",
        _SHORTEST,
    ),
    Mutant(
        "error bars: a descent ends where it creeps",
        _SUMS,
        "_STALLED = 1e-9\n",
        "_STALLED = 1e-3\n",
        "solvers/test_measured.py::test_uneven_errors_are_solved_to_the_tolerance",
    ),
    Mutant(
        "error bars: soft threshold too small",
        _CELLS,
        "        return np.sign(d) * np.maximum(np.abs(d) - t, 0.0)\n",
        "        return np.sign(d) * np.maximum(np.abs(d) - 0.999 * t, 0.0)\n",
        _EXACT,
    ),
    Mutant(
        "error bars: soft threshold too large",
        _CELLS,
        "        return np.sign(d) * np.maximum(np.abs(d) - t, 0.0)\n",
        "        return np.sign(d) * np.maximum(np.abs(d) - 1.001 * t, 0.0)\n",
        _EXACT,
    ),
    Mutant(
        "error bars: gauge by the wrong ratio",
        _SUMS,
        "        pairs = zip(pushes.sizes(ahead), sizes, strict=True)\n",
        "        pairs = zip(sizes, pushes.sizes(ahead), strict=True)\n",
        _NULL,
    ),
    Mutant(
        "error bars: gauge of a box by its easiest feature",
        _CELLS,
        "        ratio = float(np.where(beyond == 0, 0.0, ratios).max(initial=0.0))\n",
        "        ratio = float(np.where(beyond == 0, 0.0, ratios).min(initial=1e9))\n",
        _NULL,
    ),
    Mutant(
        "error bars: tangent test without bend",
        "screening/bounds.py",
        "        low = level - below - r * r * noise.bend - sample.slack\n",
        "        low = level - below - sample.slack\n",
        _BALLS,
    ),
    Mutant(
        "error bars: bend without a half of the reach",
        _SETS,
        "0.5 * radii * reach * (reach / above)",
        "0.2 * radii * reach * (reach / above)",
        _BALLS,
    ),
    Mutant(
        "error bars: a box falls without |z|",
        _CELLS,
        "        fall = np.sqrt(squares(np.abs(z) + e))\n",
        "        fall = np.sqrt(squares(z + e))\n",
        _BALLS,
    ),
    Mutant(
        "error bars: a box rises as if it helped",
        _CELLS,
        "        rise = np.sqrt(squares(z - e * np.sign(w)))\n",
        "        rise = np.sqrt(squares(np.maximum(np.abs(z) - e, 0.0)))\n",
        _BALLS,
    ),
    Mutant(
        "error bars: tangents without radii",
        _SETS,
        "    moves = images * ratio(radii, above)[:, None]\n",
        "    moves = images * ratio(1.0, above)[:, None]\n",
        _BALLS,
    ),
    Mutant(
        "error bars: pushes of samples without their radii",
        "problem/measured.py",
        "        own = ((self.noise, alpha * self.radii),)\n",
        "        own = ((self.noise, alpha),)\n",
        _EXACT,
    ),
    Mutant(
        "error bars: folds forget their pushes",
        "problem/folded.py",
        "            self.pushes + other.pushes,\n",
        "            self.pushes,\n",
        _FOLDS,
    ),
    Mutant(
        "error bars: folded sets without radii",
        _SETS,
        "        a = xp.where(chosen, weights * self.radii, 0.0)\n",
        "        a = xp.where(chosen, weights, 0.0)\n",
        _FOLDS,
    ),
    Mutant(
        "error bars: the reach of folded samples forgotten",
        "problem/measured.py",
        'max(largest(own), self._fold("largest_radius"))',
        "largest(own)",
        f"{_TESTS}test_a_fold_reaches_as_far_as_its_samples",
    ),
    Mutant(
        "error bars: rounding of a pull dropped",
        _CELLS,
        "        return self.table.combine_rounding + gamma(2 * self.d + 16)\n",
        "        return 0.0\n",
        f"{_TESTS}test_a_pull_is_off_by_no_more_than_its_bound",
    ),
    Mutant(
        "error bars: roots of covariances by their squares",
        _COVARIANCES,
        "        return _norms(self._parts(w))\n",
        "        return np.sqrt(np.maximum(self.matrices @ w @ w, 0.0))\n",
        f"{_TESTS}test_covariances_keep_their_digits_next_to_their_null_space",
    ),
    Mutant(
        "error bars: ellipsoids in other units by the factor alone",
        _CELLS,
        "        return Ellipsoids(_as_table(self.table.X * (factor * factor)))\n",
        "        return Ellipsoids(_as_table(self.table.X * factor))\n",
        f"{_TESTS}test_units_of_two_change_no_digit",
    ),
    Mutant(
        "error bars: units of X forgotten",
        "problem/presolve.py",
        "        stretch = sigma if usual or not problem.noise.largest else "
        "noise.magnitude\n",
        "        stretch = 1.0\n",
        f"{_TESTS}test_units_of_two_change_no_digit",
    ),
    Mutant(
        "error bars: lopsided boxes about the measurement",
        "problem/read_errors.py",
        "        off = 0.5 * (up.astype(np.float64) - down)\n",
        "        off = 0.5 * (down - up.astype(np.float64))\n",
        f"{_TESTS}test_lopsided_boxes_are_boxes_about_their_middle",
    ),
    Mutant(
        "error bars: indefinite covariances taken",
        "problem/read_errors.py",
        "    if wrong.any():\n",
        "    if wrong.all() and not wrong.size:\n",
        _NAMED,
    ),
    Mutant(
        "error bars: squares beyond float64 taken",
        "problem/read_errors.py",
        'if error_shape != "box" and largest > _SQUARED:',
        "if largest == np.inf:",
        _NAMED,
    ),
]
