"""Mistakes in images of boxes behind steps that bend, and in how they are judged."""

from mistakes.mutant import Mutant

_FILE, _JUDGING = "estimators/images.py", "estimators/judging.py"
_KNOWN, _CERTIFY = "estimators/monotone.py", "certify.py"
_TESTS = "estimators/test_monotone.py::"
_BRUTE = f"{_TESTS}test_no_point_of_a_box_is_outside_its_image_and_corners_are_on_it"
_TRAINED = f"{_TESTS}test_a_model_is_trained_on_the_images"
_RADII = f"{_TESTS}test_radii_grow_intervals_before_the_steps"
_SCORE = f"{_TESTS}test_a_score_is_that_of_the_worst_corners"
_LARGEST = f"{_TESTS}test_a_certified_factor_is_the_largest"
_ENDS = f"{_TESTS}test_a_factor_ends_where_a_step_ends"
_LOPSIDED = (
    f"{_TESTS}test_images_that_are_lopsided_beyond_rounding_are_judged_by_their_ends"
)
_SEARCH = f"{_TESTS}test_a_search_carries_boxes_at_every_radius"
_NAMES = f"{_TESTS}test_columns_are_used_by_name_in_judging"
_HOLES = f"{_TESTS}test_missing_cells_do_not_move"
_LEFT = f"{_TESTS}test_intervals_that_leave_a_step_are_refused_by_feature_and_row"
_APART = f"{_TESTS}test_features_must_stay_apart"
_UNKNOWN = f"{_TESTS}test_what_is_not_known_to_be_monotone_is_refused_by_name"
_PAIR = (
    "estimators/test_error_bars_estimator.py::test_a_pair_is_two_tables_or_one_of_pairs"
)
_DRAWN = "test_plotting.py::test_every_sample_is_drawn_with_its_own_errors"

MUTANTS = [
    Mutant(
        "images: ends not swapped by what decreases",
        _FILE,
        "        down = np.asarray(self.signs[k].sum(axis=0)).ravel() < 0\n",
        "        down = np.zeros(low.shape[1], dtype=bool)\n",
        _BRUTE,
    ),
    Mutant(
        "images: the same for all radii",
        _FILE,
        "        reach = np.broadcast_to(radii, (self.n,))[:, None] * self.halves\n",
        "        reach = self.halves\n",
        _RADII,
    ),
    Mutant(
        "images: boxes about the image of the middle",
        _FILE,
        "        return 0.5 * low + 0.5 * high, Boxes",
        "        return self.ends(0.0)[0], Boxes",
        _TRAINED,
    ),
    Mutant(
        "images: boxes as wide as twice what they are",
        _FILE,
        "Boxes.of(0.5 * high - 0.5 * low)",
        "Boxes.of(high - low)",
        _TRAINED,
    ),
    Mutant(
        "images: what leaves a step counts as inside",
        _FILE,
        "                inside &= ~lost.any(axis=1)\n",
        "",
        _ENDS,
    ),
    Mutant(
        "images: missing cells taken for what leaves a step",
        _FILE,
        "                lost = ~np.isfinite(end) & ~missing\n",
        "                lost = ~np.isfinite(end)\n",
        _HOLES,
    ),
    Mutant(
        "images: a feature in two outputs",
        _FILE,
        "            if not keeps_apart(sign):\n",
        "            if False:\n",
        _APART,
    ),
    Mutant(
        "images: a step may get what it refuses",
        _KNOWN,
        "            low = far ** (1 / np.minimum(power, -1.0))\n",
        "            pass\n",
        _LEFT,
    ),
    Mutant(
        "images: a child passes for its parent",
        _KNOWN,
        "    return int(type(step) in _SCALERS + _BENDING)\n",
        "    return int(isinstance(step, _SCALERS + _BENDING))\n",
        _UNKNOWN,
    ),
    Mutant(
        "images: arguments of a function not looked at",
        _KNOWN,
        "        if step.kw_args:\n",
        "        if False:\n",
        _UNKNOWN,
    ),
    Mutant(
        "images: weights of columns not looked at",
        _KNOWN,
        " and not step.transformer_weights\n",
        "\n",
        _UNKNOWN,
    ),
    Mutant(
        "images: bins of any kind",
        _KNOWN,
        '        return int(step.encode == "ordinal")\n',
        "        return 1\n",
        _UNKNOWN,
    ),
    Mutant(
        "images: judged at their best corner",
        _CERTIFY,
        "low[rows] @ np.maximum(w, 0.0) + high[rows] @ np.minimum(w, 0.0)",
        "high[rows] @ np.maximum(w, 0.0) + low[rows] @ np.minimum(w, 0.0)",
        _SCORE,
    ),
    Mutant(
        "images: judged by middles and widths",
        _CERTIFY,
        "low[rows] @ np.maximum(w, 0.0) + high[rows] @ np.minimum(w, 0.0)",
        "(0.5 * low + 0.5 * high)[rows] @ w - (0.5 * high - 0.5 * low)[rows] @ abs(w)",
        _LOPSIDED,
    ),
    Mutant(
        "images: intercepts left out",
        _CERTIFY,
        "            lead[rows, k] = least + shift\n",
        "            lead[rows, k] = least\n",
        _SCORE,
    ),
    Mutant(
        "images: the least factor that is not certain",
        _JUDGING,
        "        return np.where(endless, np.inf, kept.view(np.float64))\n",
        "        return np.where(endless, np.inf, lost.view(np.float64))\n",
        _LARGEST,
    ),
    Mutant(
        "images: factors end with the numbers",
        _JUDGING,
        "        return np.where(endless, np.inf, kept.view(np.float64))\n",
        "        return kept.view(np.float64)\n",
        _LARGEST,
    ),
    Mutant(
        "images: corners in transformed units",
        _JUDGING,
        "(coef[rival] - coef[labels]) @ self.images.lead()",
        "(coef[rival] - coef[labels]) @ abs(self.images.lead())",
        _SCORE,
    ),
    Mutant(
        "images: a search carries them at radius one",
        "estimators/folds.py",
        'data, levels["radii"] = part.at(levels["radii"][0]), [1.0]',
        "data = part.at(1.0)",
        _SEARCH,
    ),
    Mutant(
        "images: columns as they come",
        "estimators/pipeline.py",
        "            X = X[list(names)]  # as they were in training\n",
        "            pass\n",
        _NAMES,
    ),
    Mutant(
        "images: up and down of a pair swapped",
        "problem/read_errors.py",
        "    return tables[..., 0], tables[..., 1]\n",
        "    return tables[..., 1], tables[..., 0]\n",
        _PAIR,
    ),
    Mutant(
        "images: drawn without their radius",
        "plotting/margin.py",
        "middles[rows, None] + self.radii[rows, None, None] * outline",
        "middles[rows, None] + outline",
        _DRAWN,
    ),
    Mutant(
        "images: lopsided boxes drawn about the samples",
        "plotting/margin.py",
        "        middles = self.X if self.middles is None else self.middles\n",
        "        middles = self.X\n",
        _DRAWN,
    ),
]
