"""Mistakes in what users touch of boxes with tolerances and of the norm penalty."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "features: the norm penalty kept from the solver",
        "estimators/one_vs_rest.py",
        '_STATED = ("C", "norm_penalty", "fit_intercept", "intercept_penalty")\n',
        '_STATED = ("C", "fit_intercept", "intercept_penalty")\n',
        "estimators/test_estimators.py::test_the_norm_penalty_is_that_of_the_objective",
    ),
    Mutant(
        "features: counted only where all classes weigh them",
        "estimators/linear.py",
        "np.any(coef != 0, axis=0)",
        "np.all(coef != 0, axis=0)",
        "estimators/test_estimators.py::test_a_feature_counts_where_some_class_weighs_it",
    ),
    Mutant(
        "features: a sparse model taken for an object",
        "problem/arrays.py",
        "    if sp.issparse(array):\n        return array.toarray()\n",
        "",
        "estimators/test_estimators.py::test_a_sparse_model_answers_as_the_dense_one_does",
    ),
    Mutant(
        "features: penalties and radii of a search swapped",
        "estimators/folds.py",
        "        place = tuple(where.get(name, slice(None)) for name in grid)\n",
        "        place = tuple(where.get(name, slice(None, None, -1)) for name in "
        "grid)\n",
        "estimators/test_model_selection.py::test_norm_penalties_are_chosen_beside_C_and_radius",
    ),
    Mutant(
        "features: the chosen norm penalty not trained with",
        "estimators/cv.py",
        "        model.norm_penalty, model.ramp = self.norm_penalty_, self.ramp_\n",
        "        model.ramp = self.ramp_\n",
        "estimators/test_model_selection.py::test_norm_penalties_are_chosen_beside_C_and_radius",
    ),
    Mutant(
        "features: tolerances forgotten behind a step",
        "problem/polyhedra.py",
        "        scales = sizes @ np.broadcast_to(self.scales, (A.shape[1],))\n",
        "        scales = sizes @ np.ones(A.shape[1])\n",
        "estimators/test_pipeline.py::test_boxes_are_carried_exactly_through_steps_that_keep_features_apart",
    ),
    Mutant(
        "features: tolerances of the command line read as standard deviations",
        "cli/uncertainty.py",
        '{"l2": np.asarray, "linf": Box, "l1": CrossPolytope}',
        '{"l2": np.asarray, "linf": np.asarray, "l1": CrossPolytope}',
        "cli/test_cli.py::test_tolerances_reach_model_file_and_report",
    ),
    Mutant(
        "features: the price left out of the ordinary model's comparison",
        "cli/evaluation.py",
        "or options.trusting() != options\n",
        "\n",
        "cli/test_cli.py::test_a_price_on_the_weights_is_chosen_by_cross_validation",
    ),
    Mutant(
        "features: drawn to where they first have a weight",
        "plotting/paths.py",
        "        lasting = last - np.argmax(used[::-1], axis=0)",
        "        lasting = np.argmax(used, axis=0)",
        "test_plotting.py::test_features_are_followed_until_they_lose_their_weight",
    ),
]
