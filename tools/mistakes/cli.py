"""Mistakes in radii that models remember, and in the roads of the command line."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "a median stands for the radii of the samples",
        "estimators/linear.py",
        "    return None if np.ndim(radius) > 0 else float(radius)\n",
        "    return float(np.median(radius))\n",
        "estimators/test_trained_radius.py::test_a_model_trained_with_radii_per_sample_asks_for_them",
    ),
    Mutant(
        "radii that come with chunks forgotten",
        "estimators/chunked.py",
        "    per_row = each or (source.brings_radii and radii is None)\n",
        "    per_row = each\n",
        "estimators/test_trained_radius.py::test_data_in_chunks_is_remembered_like_data_in_memory",
    ),
    Mutant(
        "factor of a search forgotten in its radius",
        "estimators/folds.py",
        "            return factor * self.radius\n",
        "            return self.radius\n",
        "estimators/test_trained_radius.py::test_a_search_judges_by_the_radius_of_the_model_it_chose",
    ),
    Mutant(
        "column of radii ignored in certify",
        "cli/certifying.py",
        "    column = options.radius_column or model.radius_column\n",
        "    column = options.radius_column\n",
        "cli/test_cli_roads.py::test_a_factor_on_the_radii_is_remembered_with_them",
    ),
    Mutant(
        "factor on the column of radii forgotten in certify",
        "cli/certifying.py",
        "        return _Judged(None, factor * radii, column, factor)\n",
        "        return _Judged(None, radii, column, factor)\n",
        "cli/test_cli_roads.py::test_a_factor_on_the_radii_is_remembered_with_them",
    ),
    Mutant(
        "rows without a radius counted as not certified",
        "cli/certifying.py",
        "[told].mean())",
        ".mean())",
        "cli/test_cli_roads.py::test_rows_without_a_radius_do_not_count_as_certified",
    ),
    Mutant(
        "median in an old model file taken for its radius",
        "cli/model.py",
        """    known = svc.radius > 0 and svc.radius == content["radius"]\n""",
        "    known = True\n",
        "cli/test_cli_roads.py::test_models_in_the_first_format_are_read_and_certain_of_no_more",
    ),
    Mutant(
        "labels compared as text",
        "cli/labels.py",
        "        label = by_value.get(_value(text))\n",
        "        label = None\n",
        "cli/test_cli_roads.py::test_a_model_recognises_labels_of_files_that_spell_them_otherwise",
    ),
    Mutant(
        "whole numbers as labels left as text",
        "cli/labels.py",
        "    for read in (_truth, _whole):\n        values",
        "    for read in (_truth,):\n        values",
        "cli/test_cli_roads.py::test_labels_are_values_however_they_are_spelled",
    ),
    Mutant(
        "features of LIBSVM pieces count from 0",
        "data/libsvm.py",
        "        return range(lowest, highest + 1)\n",
        "        return range(0, highest + 1)\n",
        "cli/test_cli_roads.py::test_the_target_of_a_libsvm_file_has_a_name",
    ),
    Mutant(
        "text files are always CSV",
        "data/kinds.py",
        """"libsvm" if os.path.isfile(path) and _is_libsvm(path) else "csv"\n""",
        """"csv"\n""",
        "cli/test_cli_roads.py::test_text_is_told_from_libsvm_by_its_content",
    ),
    Mutant(
        "compressed text cut into pieces by its size on disk",
        "data/opening.py",
        "    if memory is not None and file.is_compressed:\n",
        "    if False:\n",
        "cli/test_cli_roads.py::test_what_is_compressed_is_read_whole_or_not_at_all",
    ),
    Mutant(
        "spread between pieces forgotten",
        "cli/large.py",
        " + shift**2 * self.rows * n / total\n",
        "\n",
        "cli/test_cli_roads.py::test_scales_of_features_are_those_of_all_pieces_together",
    ),
]
