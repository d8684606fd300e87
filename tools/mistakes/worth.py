"""Mistakes in what a report says of worth, leaks and rows that flip."""

from mistakes.mutant import Mutant

_TESTS = "cli/test_worth.py::test_"
_GAIN = f"{_TESTS}a_gain_has_the_error_of_a_paired_t_test_over_rows"
_FLIPS = f"{_TESTS}rows_flip_where_the_worst_noise_says_so"
_PAYS = f"{_TESTS}it_pays_only_if_it_is_ahead_of_both"
_SAMPLE = f"{_TESTS}a_sample_has_every_class_in_every_fold_and_scales_c"

MUTANTS = [
    Mutant(
        "worth: rows of two models not paired",
        "cli/gain.py",
        "difference.var(ddof=1) / n",
        "(own.var(ddof=1) + other.var(ddof=1)) / n",
        _GAIN,
    ),
    Mutant(
        "worth: the spread of rows taken for the error of their mean",
        "cli/gain.py",
        "difference.var(ddof=1) / n)",
        "difference.var(ddof=1))",
        _GAIN,
    ),
    Mutant(
        "worth: C tuned on the rows it is judged by",
        "cli/evaluation.py",
        "    elsewhere = scores.sum(axis=1, keepdims=True) - scores\n",
        "    elsewhere = scores\n",
        f"{_TESTS}c_is_tuned_on_the_other_folds_and_never_on_the_own",
    ),
    Mutant(
        "worth: C of a sample taken for that of all rows",
        "cli/evaluation.py",
        "    Cs = share * np.concatenate(",
        "    Cs = np.concatenate(",
        _SAMPLE,
    ),
    Mutant(
        "worth: rare classes lost from the sample",
        "cli/evaluation.py",
        "np.ceil(share * np.repeat(counts, counts))",
        "np.round(share * np.repeat(counts, counts))",
        _SAMPLE,
    ),
    Mutant(
        "worth: judged at the radius chosen",
        "cli/evaluation.py",
        "    if not given.unit_radius:\n        return given.radius\n",
        "",
        f"{_TESTS}noise_is_that_which_was_asked_for_whatever_was_chosen",
    ),
    Mutant(
        "worth: ahead of one is enough",
        "cli/worth.py",
        'all(gain["low"] > 0 for gain in gains)',
        'any(gain["low"] > 0 for gain in gains)',
        _PAYS,
    ),
    Mutant(
        "worth: behind one does not matter",
        "cli/worth.py",
        'any(gain["high"] < 0 for gain in gains)',
        'all(gain["high"] < 0 for gain in gains)',
        _PAYS,
    ),
    Mutant(
        "worth: a model that ignores its features pays under noise",
        "cli/worth.py",
        ' and own["mean"] > found["majority"]',
        "",
        f"{_TESTS}what_is_no_better_than_guessing_does_not_pay",
    ),
    Mutant(
        "leaks: ties taken for steps",
        "cli/leaks.py",
        "N + 1 - np.sum(ties**3 - ties) / (N * (N - 1))",
        "N + 1",
        f"{_TESTS}chance_is_no_leak",
    ),
    Mutant(
        "leaks: falling values overlooked",
        "cli/leaks.py",
        "float(max(auc, 1 - auc))",
        "float(auc)",
        f"{_TESTS}separation_is_the_auc_of_the_pair_that_is_hardest",
    ),
    Mutant(
        "leaks: one class told apart is enough",
        "cli/leaks.py",
        "        if least < _ALONE:\n            return 0.0\n",
        "        return least\n",
        f"{_TESTS}separation_is_the_auc_of_the_pair_that_is_hardest",
    ),
    Mutant(
        "leaks: gaps overlooked",
        "cli/leaks.py",
        "    if gaps.any():\n",
        "    if False:\n",
        f"{_TESTS}leaking_columns_are_named_and_others_are_not",
    ),
    Mutant(
        "flips: shares by the move alone",
        "cli/flips.py",
        "    pull = (coef[rival] - coef[given]) * moves\n",
        "    pull = abs(moves)\n",
        _FLIPS,
    ),
    Mutant(
        "flips: wrong rows listed",
        "cli/flips.py",
        "np.flatnonzero(right & np.isfinite(reach))",
        "np.flatnonzero(np.isfinite(reach))",
        _FLIPS,
    ),
]
