"""Mistakes in what people are told about labels that may be wrong."""

from mistakes.mutant import Mutant

_CLI = "cli/test_label_noise.py::test_"
_ROWS = f"{_CLI}suspects_are_those_of_the_library_by_their_rows_in_the_file"

MUTANTS = [
    Mutant(
        "labels: suspects counted among the rows trained on",
        "cli/suspects.py",
        "        number = int(rows.kept[sample]) + 1\n",
        "        number = sample + 1\n",
        _ROWS,
    ),
    Mutant(
        "labels: suspects bear the names of other rows",
        "cli/reading.py",
        "names=table.texts[named][rows.kept])\n",
        "names=table.texts[named])\n",
        _ROWS,
    ),
    Mutant(
        "labels: in doubt, and trained with the hinge",
        "cli/training.py",
        "            loss=options.loss,\n            ramp=ramp,\n",
        "            ramp=ramp,\n",
        _ROWS,
    ),
    Mutant(
        "labels: rows left out counted in the limit of the noise",
        "cli/describe.py",
        '        if svc.loss == "ramp":\n',
        "        if False:\n",
        f"{_CLI}the_limit_of_the_noise_is_that_of_the_rows_kept",
    ),
    Mutant(
        "labels: the ramp that was chosen not trained with",
        "cli/training.py",
        '            ramp = choice["ramp"] if options.label_noise else ramp\n',
        "",
        f"{_CLI}the_ramp_is_chosen_as_the_library_chooses",
    ),
    Mutant(
        "labels: scores of the first ramp told for those of the chosen one",
        "cli/training.py",
        "        scores = scores[search.ramps_.tolist().index(search.ramp_)]\n",
        "        scores = scores[0]\n",
        f"{_CLI}the_ramp_is_chosen_as_the_library_chooses",
    ),
    Mutant(
        "labels: doubted by the ordinary SVM too",
        "cli/commands.py",
        '"norm_penalties", "label_noise", *self._about_labels)\n',
        '"norm_penalties")\n',
        f"{_CLI}the_ordinary_svm_beside_it_trusts_every_label",
    ),
    Mutant(
        "labels: a proof of the best of all told on the terminal",
        "cli/fit.py",
        '        among = ", among models that leave the same rows out"\n',
        "",
        f"{_CLI}the_terminal_lists_the_first_and_a_file_all",
    ),
    Mutant(
        "labels: a proof of the best of all told in the report",
        "cli/page_proof.py",
        '"that leave the same rows out " if ramp else ""',
        '""',
        f"{_CLI}the_page_tells_what_to_check_and_what_is_proven",
    ),
    Mutant(
        "labels: a class given up goes without saying",
        "cli/advice.py",
        "        if 2 * n > (total",
        "        if n > (total",
        f"{_CLI}a_class_that_the_model_gives_up_is_pointed_out",
    ),
    Mutant(
        "labels: files from before there was a ramp lack a loss",
        "cli/model.py",
        "        if not hasattr(svc, name):",
        "        if False:",
        f"{_CLI}files_from_before_there_was_a_ramp_are_of_the_hinge",
    ),
    Mutant(
        "labels: a path on the command line with the hinge",
        "cli/path.py",
        "                ramps=options.ramps or None,\n",
        "",
        f"{_CLI}a_path_along_ramps_counts_rows_left_out",
    ),
    Mutant(
        "labels: no radius to count in taken for a number",
        "cli/suspects.py",
        "one[key] if one[key] is not None else math.inf",
        "one[key] or 0.0",
        f"{_CLI}without_noise_distances_have_no_radius_to_count_in",
    ),
    Mutant(
        "labels: suspects of a former fit kept",
        "estimators/one_vs_rest.py",
        '    for name in ("suspects_", "descent_"):\n',
        "    for name in ():\n",
        "estimators/test_descent_kept.py::test_a_model_keeps_how_it_got_there_and_forgets_it",
    ),
    Mutant(
        "labels: the hinge drawn among ramps",
        "plotting/paths.py",
        " & np.isfinite(values[order])]\n",
        "]\n",
        "test_plotting.py::test_a_path_is_drawn_along_ramps",
    ),
]
