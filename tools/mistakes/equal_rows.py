"""Mistakes in merging equal rows, and in giving answers back for all samples."""

from mistakes.mutant import Mutant

_ROWS = "problem/test_equal_rows.py::test_"
_CHUNKS = "solvers/test_distinct.py::test_"

MUTANTS = [
    Mutant(
        "weights of merged samples not added up",
        "problem/equal_rows.py",
        "    weights, chain = summed(problem.weights, label, first.size)\n",
        "    weights, chain = problem.weights[first], 5.0\n",
        _ROWS + "merged_samples_have_the_same_objective_and_feasible_weights",
    ),
    Mutant(
        "samples of different radii merged",
        "problem/equal_rows.py",
        "np.flatnonzero(problem.radii != problem.radii[first][label])",
        "wrong",
        _ROWS + "a_collision_of_hashes_merges_nothing_that_differs",
    ),
    Mutant(
        "samples of different labels merged beside an intercept",
        "problem/equal_rows.py",
        "        wrong = np.concatenate((wrong, np.flatnonzero(y != theirs)))\n",
        "        pass\n",
        _ROWS + "a_collision_of_hashes_merges_nothing_that_differs",
    ),
    Mutant(
        "rows of one hash merged unseen",
        "problem/equal_rows.py",
        "    wrong = differing(problem, first, label)\n",
        "    wrong = np.empty(0, dtype=np.int64)\n",
        _ROWS + "a_collision_of_hashes_merges_nothing_that_differs",
    ),
    Mutant(
        "sparse rows compared by their columns alone",
        "problem/equal_rows.py",
        "        equal &= X.data[ours] == values\n",
        "\n",
        _ROWS + "a_collision_of_hashes_merges_nothing_that_differs",
    ),
    Mutant(
        "error bars of equal rows not compared",
        "problem/measured.py",
        "        return [self.rows, *self.noise.tables()]\n",
        "        return [self.rows]\n",
        _ROWS + "samples_that_differ_in_one_thing_are_kept_apart",
    ),
    Mutant(
        "mirror images of the other class taken for different",
        "problem/equal_rows.py",
        "        flips = y * theirs\n",
        "        flips = None\n",
        _ROWS + "without_an_intercept_the_mirror_image_of_the_other_class_is_equal",
    ),
    Mutant(
        "rounding of merged weights not counted in the primal",
        "problem/rounding.py",
        "gamma(chain(problem.n) + problem.chain) * hinge",
        "gamma(chain(problem.n)) * hinge",
        _ROWS + "bounds_on_rounding_count_that_of_merged_weights",
    ),
    Mutant(
        "rounding of merged weights not counted in the dual",
        "problem/problem.py",
        "        relative = self.rows.combine_rounding + gamma(self.chain)\n",
        "        relative = self.rows.combine_rounding\n",
        _ROWS + "bounds_on_rounding_count_that_of_merged_weights",
    ),
    Mutant(
        "rounding of merged weights lost in folded ones",
        "screening/reduction.py",
        "chain(problem.n, count) + problem.chain,",
        "chain(problem.n, count),",
        _ROWS + "bounds_on_rounding_count_that_of_merged_weights",
    ),
    Mutant(
        "samples without weight said to be at it",
        "problem/equal_rows.py",
        "return removed[self.label] | unused, saturated[self.label] & ~unused",
        "return removed[self.label], saturated[self.label]",
        _ROWS + "data_of_equal_samples_is_solved_through_few",
    ),
    Mutant(
        "dual weights dealt out along a path as if C were 1",
        "path.py",
        "units.dual_weights(outcome.dual.alpha, at[0])",
        "units.dual_weights(outcome.dual.alpha)",
        _ROWS + "a_path_gives_back_what_single_fits_do",
    ),
    Mutant(
        "places of earlier chunks kept when their rows are merged",
        "solvers/chunks/distinct.py",
        "{k: found.label[place] for k, place in self._places.items()}",
        "dict(self._places)",
        _CHUNKS + "rows_of_chunks_are_merged_in_turn",
    ),
    Mutant(
        "chunks that do not repeat left out of the problem on distinct rows",
        "solvers/chunks/distinct.py",
        "        if equal is None or self.given_up:\n            self._give_up()\n",
        "        if equal is None or self.given_up:\n",
        _CHUNKS + "chunks_that_do_not_repeat_are_handed_over_as_before",
    ),
    Mutant(
        "roundings within chunks forgotten",
        "solvers/chunks/distinct.py",
        "chain=max(part.chain for part in parts)",
        "chain=0.0",
        _CHUNKS + "rows_of_chunks_are_merged_in_turn",
    ),
    Mutant(
        "norm penalty forgotten on distinct rows",
        "solvers/chunks/distinct.py",
        "replace(problem, folded=batches.penalty)",
        "problem",
        _CHUNKS + "a_norm_penalty_bears_on_distinct_rows_too",
    ),
    Mutant(
        "rounding of merged weights lost in a search",
        "solvers/tall/work.py",
        "            problem = replace(problem, chain=self.batches.chain)\n",
        "",
        _ROWS + "a_search_carries_the_roundings_of_weights_along",
    ),
]
