"""Mistakes in the ramp loss: majorant, descent, bound, chunks, suspects."""

from mistakes.mutant import Mutant

_RAMP = "solvers/test_ramp.py::test_"
_RANDOM = _RAMP + "the_descent_keeps_its_word_on_random_problems"
_MAJORANT = _RAMP + "the_majorant_is_above_and_touches"
_MARGINS = _RAMP + "bounds_on_margins_are_no_more_than_what_models_can_do"
_MEANS = _RAMP + "class_means_leave_out_what_is_beyond_the_middle"
_CHUNKS = _RAMP + "rows_in_chunks_descend_as_in_memory"
_PATHS = _RAMP + "paths_with_a_ramp_certify_every_point"
_SUSPECTS = "estimators/test_suspects.py::test_"

MUTANTS = [
    Mutant(
        "ramp: a sample costs a less than it should",
        "problem/ramp.py",
        "        return 1.0 - self.level\n",
        "        return 1.0 + 0.5 * self.level\n",
        _MAJORANT,
    ),
    Mutant(
        "ramp: what is left out costs nothing",
        "problem/ramp.py",
        "        return self.most * accurate_sum(",
        "        return 0.0 * accurate_sum(",
        _MAJORANT,
    ),
    Mutant(
        "ramp: samples kept that cost most",
        "problem/ramp.py",
        "        return (slack > self.most) & (self.problem.weights > 0)\n",
        "        return (slack < -self.most) & (self.problem.weights > 0)\n",
        _MAJORANT,
    ),
    Mutant(
        "ramp: the certificate without what is left out",
        "problem/ramp.py",
        "    return Certificate(rest.primal + cost, rest.dual + cost, rounding)\n",
        "    return Certificate(rest.primal, rest.dual, rounding)\n",
        _RANDOM,
    ),
    Mutant(
        "ramp: a dual value with twice the cost",
        "problem/ramp.py",
        "rest.dual + cost, rounding)\n",
        "min(rest.dual + 1.01 * cost, rest.primal + cost), rounding)\n",
        _RANDOM,
    ),
    Mutant(
        "ramp: a worse point is taken",
        "solvers/ramp/descent.py",
        "            if not lower < value:\n",
        "            if not lower < 1.5 * value:\n",
        _RANDOM,
    ),
    Mutant(
        "ramp: ends with a rough problem",
        "solvers/ramp/descent.py",
        "            if repeats or stalls:\n                tol = control.tol\n",
        "            if repeats or stalls:\n                control.tol = tol\n",
        _RANDOM,
    ),
    Mutant(
        "ramp: the first of several starts",
        "solvers/ramp/descent.py",
        "        return min(found, key=lambda each: each.value)\n",
        "        return found[0]\n",
        _RAMP + "more_starts_are_never_worse_and_each_is_what_it_says",
    ),
    Mutant(
        "ramp: means without weights",
        "solvers/ramp/descent.py",
        "shares = problem.weights / np.where(upper, *sums)",
        "shares = 1.0 / np.where(upper, upper.sum(), (~upper).sum())",
        _MEANS,
    ),
    Mutant(
        "ramp: no middle between the means",
        "solvers/ramp/descent.py",
        "middle = 0.5 * accurate_sum(",
        "middle = 0.0 * accurate_sum(",
        _MEANS,
    ),
    Mutant(
        "ramp: trimmed at the margin",
        "solvers/ramp/descent.py",
        "        return found.point.slack > 1, None, None\n",
        "        return found.point.slack > 0, None, None\n",
        _RAMP + "the_trimmed_start_leaves_out_what_the_hinge_gets_wrong",
    ),
    Mutant(
        "ramp: a start given is left for the hinge",
        "solvers/ramp/descent.py",
        "        if start is not None:\n            return self.go_on(",
        "        if False:\n            return self.go_on(",
        _RAMP + "a_start_may_be_given_and_stays_where_it_is",
    ),
    Mutant(
        "ramp: a callback hears of the convex problem",
        "solvers/ramp/descent.py",
        "    return callback(with_costs([entry], cost)[0])\n",
        "    return callback(entry)\n",
        _RAMP + "a_callback_hears_of_the_whole_objective_and_may_stop",
    ),
    Mutant(
        "ramp: many rows all at once",
        "solvers/ramp/descent.py",
        "        problem, coarse = self.ramp.problem, self._sampled()\n",
        "        problem, coarse = self.ramp.problem, None\n",
        _RAMP + "many_rows_begin_on_a_sample",
    ),
    Mutant(
        "ramp: a chord that ends too low",
        "solvers/ramp/bound.py",
        "ramp.most / np.maximum(1 - least, ramp.most)",
        "ramp.most / np.maximum(-least, ramp.most)",
        _RAMP + "a_chord_is_below_the_ramp_from_its_margin_on",
    ),
    Mutant(
        "ramp: a ball of half its square",
        "solvers/ramp/bound.py",
        "np.sqrt(2 * above)",
        "np.sqrt(above)",
        _MARGINS,
    ),
    Mutant(
        "ramp: a free intercept bounded by one class",
        "solvers/ramp/bound.py",
        "high = np.where(positive, 1 - lower, upper - ramp.level)[used].max()",
        "high = np.where(positive, 1 - lower, -np.inf)[used].max()",
        _MARGINS,
    ),
    Mutant(
        "ramp: the bound stops at its first ball",
        "solvers/ramp/bound.py",
        "        least = np.fmax(least, least_margins(ramp, value, dual))\n",
        "        least = np.minimum(least_margins(ramp, value, dual), 2 * least + 1)\n",
        _RAMP + "the_bound_is_close_where_there_is_little_room",
    ),
    Mutant(
        "ramp: a path goes on from the C before alone",
        "solvers/paths/sequence.py",
        "        name = min(known, key=lambda name: ramp.value(known[name]))\n",
        "        name = list(known)[-1]\n",
        _RAMP + "a_path_takes_the_lower_of_two_starts",
    ),
    Mutant(
        "ramp: a path certifies the convex problem",
        "solvers/paths/sequence.py",
        "        return (self.descended or self.outcome).certificate\n",
        "        return self.outcome.certificate\n",
        _PATHS,
    ),
    Mutant(
        "ramp: ramps of a path in the order of the hinge alone",
        "path.py",
        "    signs = np.array([1.0, -1.0, 1.0])\n",
        "    signs = np.array([1.0, -1.0, 0.0])\n",
        _PATHS,
    ),
    Mutant(
        "ramp: chunks leave nothing out",
        "solvers/chunks/chunked.py",
        "            problem = self.beyond.rest(problem)\n",
        "            pass\n",
        _CHUNKS,
    ),
    Mutant(
        "ramp: chunks forget what is left out",
        "solvers/ramp/chunked_descent.py",
        "DescendedInChunks(search, seen.cost, report, before, solved)",
        "DescendedInChunks(search, seen.cost, report, before, search.certificate)",
        _CHUNKS,
    ),
    Mutant(
        "ramp: rows left out told from the point after",
        "solvers/ramp/chunked_descent.py",
        "self.level, seen.left_out, tuple(objectives)",
        "self.level, ~seen.left_out, tuple(objectives)",
        _CHUNKS,
    ),
    Mutant(
        "ramp: a search astray is believed",
        "solvers/ramp/chunked_descent.py",
        "            search.consider(here.w, here.b)\n",
        "            pass\n",
        _RAMP + "a_search_that_finds_nothing_better_raises_nothing",
    ),
    Mutant(
        "suspects: all that are left out",
        "estimators/suspects.py",
        "found = found[np.any(coef[predicted] != coef[labels], axis=1)]",
        "found = found[np.any(coef[predicted] != 0, axis=1)]",
        _SUSPECTS + "who_is_left_out_but_predicted_right_is_no_suspect",
    ),
    Mutant(
        "suspects: a model that tells nothing disbelieves",
        "estimators/suspects.py",
        "found = found[np.any(coef[predicted] != coef[labels], axis=1)]",
        "found = found[predicted != labels]",
        _SUSPECTS + "a_model_that_tells_nothing_disbelieves_nobody",
    ),
    Mutant(
        "suspects: the least doubtful first",
        "estimators/suspects.py",
        'np.argsort(-found["distance"]',
        'np.argsort(found["distance"]',
        _SUSPECTS + "flipped_labels_are_the_suspects",
    ),
    Mutant(
        "suspects: in units of the shape alone",
        "estimators/suspects.py",
        'found["noises"] = distance / radii',
        'found["noises"] = distance',
        _SUSPECTS + "flipped_labels_are_the_suspects",
    ),
    Mutant(
        "suspects: the nearest rival decides how far it is",
        "certify.py",
        "    return np.maximum(sizes, 0.0).max(axis=1), values.argmax(axis=1)\n",
        "    return np.maximum(sizes, 0.0).mean(axis=1), values.argmax(axis=1)\n",
        _SUSPECTS + "distances_to_a_label_are_what_it_takes",
    ),
    Mutant(
        "ramp: a search trains the last level",
        "estimators/cv.py",
        "model.norm_penalty, model.ramp = self.norm_penalty_, self.ramp_\n",
        "model.norm_penalty, model.ramp = self.norm_penalty_, self.ramps_[-1]\n",
        _SUSPECTS + "searches_choose_the_ramp",
    ),
    Mutant(
        "ramp: scores of a search with levels turned around",
        "estimators/folds.py",
        "        for name in _Models._fields:\n",
        "        place = tuple(\n"
        "            slice(None, None, -1) if isinstance(k, slice) else k\n"
        "            for k in place\n"
        "        )\n        for name in _Models._fields:\n",
        _SUSPECTS + "searches_choose_the_ramp",
    ),
]
