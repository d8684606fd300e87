"""Mistakes in correlated noise, its axes and its names, and in radii."""

from mistakes.mutant import Mutant

_VALUES = "problem/test_covariance.py::test_values_cover_what_the_axes_are_off_by"
_DECISIONS = "problem/test_covariance.py::test_bounds_cover_what_the_axes_are_off_by"
_BOUNDS = "problem/test_covariance.py::test_axes_and_scales_keep_within_their_bounds"
_DIGITS = (
    "problem/test_covariance.py::"
    "test_covariances_that_determine_their_factor_have_it_to_the_last_digits"
)
_FACTOR = "problem/test_covariance.py::test_a_factor_is_the_covariance_it_stands_for"
_NAMES = "problem/test_noise.py::test_labelled_noise_is_that_of_its_features"

MUTANTS = [
    Mutant(
        "phantom directions of a singular covariance kept",
        "problem/covariance.py",
        "    kept = values > _RANK * d * EPS * largest\n",
        "    kept = values > 0\n",
        "problem/test_covariance.py::test_rank_is_decided_by_the_stated_rule",
    ),
    Mutant(
        "rank decided in the units of the features",
        "problem/covariance.py",
        "    units = _feature_units(covariance)\n",
        "    units = np.ones(d)\n",
        "problem/test_covariance.py::test_rank_is_decided_by_the_stated_rule",
    ),
    Mutant(
        "error of the factor of a covariance dropped",
        "problem/covariance.py",
        "1.25 * (unit * support + error)",
        "1.25 * unit * support",
        _BOUNDS,
    ),
    Mutant(
        "residual off the range forgotten in the bound of a factor",
        "problem/covariance.py",
        "        error = float(2 * moved + np.sqrt(_spectral_bound(left) + rest))\n",
        "        error = 2 * moved\n",
        _BOUNDS,
    ),
    Mutant(
        "residual of a factor computed with rounding",
        "problem/covariance.py",
        ") // 2 - 1\n",
        ") // 2 + 8\n",
        _DIGITS,
    ),
    Mutant(
        "factor of a covariance not mended",
        "problem/covariance.py",
        "        factor = factor + step\n",
        "        break\n",
        _DIGITS,
    ),
    Mutant(
        "rows turned without an allowance for it",
        "problem/problem.py",
        "return self.noise.rotation_error * self.rows.norms()[rows] + errors",
        "return errors",
        _VALUES,
    ),
    Mutant(
        "noise in turned axes without an allowance for it",
        "problem/problem.py",
        "return self.noise.rotation_error * self.rows.norms()[rows] + errors",
        "return self.noise.rotation_error * self.rows.norms()[rows]",
        _VALUES,
    ),
    Mutant(
        "error of the axes dropped from the dual value",
        "problem/problem.py",
        "axes=s * self.noise.support_error",
        "axes=0.0",
        _VALUES,
    ),
    Mutant(
        "turned rows forgotten in Zᵀα",
        "problem/problem.py",
        "d_error = (relative + self.noise.rotation_error) * mass",
        "d_error = relative * mass",
        _VALUES,
    ),
    Mutant(
        "turned rows forgotten where Zᵀα is bounded sharply",
        "problem/problem.py",
        "along += self.noise.rotation_error * float(np.linalg.norm(w)) * mass",
        "along += 0.0",
        _VALUES,
    ),
    Mutant(
        "weights turned back without an allowance for their length",
        "problem/rounding.py",
        "    error += problem.noise.rotation_error * norm_w * norm_w\n",
        "",
        "problem/test_covariance.py::test_values_hold_for_the_weights_that_are_returned",
    ),
    Mutant(
        "turned rows forgotten in folded samples",
        "screening/reduction.py",
        "    relative += problem.noise.rotation_error\n",
        "",
        _VALUES,
    ),
    Mutant(
        "noise of folded samples taken for exact in turned axes",
        "problem/rounding.py",
        "        error += fold.s * problem.noise.support_error * norm_w\n",
        "",
        _VALUES,
    ),
    Mutant(
        "decisions without an allowance for the axes",
        "screening/bounds.py",
        "            + region.norm_bound * problem.axes_error(rows),\n",
        "            + 0.0,\n",
        _DECISIONS,
    ),
    Mutant(
        "null model proven by noise that is not there",
        "problem/rounding.py",
        "    size += s * problem.noise.support_error / inscribed\n",
        "",
        "problem/test_covariance.py::"
        "test_the_null_model_is_proven_only_where_the_true_noise_allows_it",
    ),
    Mutant(
        "errors of the axes lost in other units",
        "problem/ellipsoids.py",
        "self.rotation_error, self.support_error / factor\n",
        "self.rotation_error, 0.0\n",
        "problem/test_covariance.py::test_other_units_keep_the_errors_of_the_axes",
    ),
    Mutant(
        "correlated noise turned the wrong way",
        "problem/ellipsoids.py",
        "        return self.axes @ self.principal.prox(self.axes.T @ d, s)\n",
        "        return self.axes @ self.principal.prox(self.axes @ d, s)\n",
        _FACTOR,
    ),
    Mutant(
        "worst move of correlated noise of the wrong length",
        "problem/ellipsoids.py",
        "return self.factor @ (image / omega) if omega > 0",
        "return self.factor @ image if omega > 0",
        _FACTOR,
    ),
    Mutant(
        "moves off the range of a covariance taken for noise",
        "problem/ellipsoids.py",
        '            return float("inf")\n        return self.principal',
        "            pass\n        return self.principal",
        "problem/test_covariance.py::test_noise_along_one_direction_never_matters_across_it",
    ),
    Mutant(
        "certified radius trusts a blurred covariance",
        "certify.py",
        "shape.support(w) + open_part",
        "shape.support(w)",
        "estimators/test_certify.py::test_no_certified_radius_exceeds_what_a_covariance_allows",
    ),
    Mutant(
        "carried factor without its scales",
        "problem/ellipsoids.py",
        "ellipsoid_of(sp.csr_array(A @ self.factor))",
        "ellipsoid_of(sp.csr_array(A @ self.axes))",
        "estimators/test_pipeline.py::test_carried_noise_has_the_support_function_of_the_raw_one",
    ),
    Mutant(
        "labelled noise used by position",
        "problem/feature_names.py",
        "    return np.array([places[name] for name in names], dtype=np.intp)\n",
        "    return np.arange(len(names))\n",
        _NAMES,
    ),
    Mutant(
        "rows of a covariance used by position",
        "problem/feature_names.py",
        "    return names, matrix[matched(rows, names)]\n",
        "    return names, matrix\n",
        _NAMES,
    ),
    Mutant(
        "columns of a covariance used by position",
        "problem/feature_names.py",
        "        return check_covariance(array)[np.ix_(order, order)]\n",
        "        return check_covariance(array)[order]\n",
        _NAMES,
    ),
    Mutant(
        "unknown names of noise ignored",
        "problem/feature_names.py",
        "    if missing or unknown:\n",
        "    if missing:\n",
        "problem/test_noise.py::test_names_that_do_not_match_are_listed",
    ),
    Mutant(
        "imaginary parts of noise dropped",
        "problem/validation.py",
        '    if dtype.kind not in "biuf":\n',
        '    if dtype.kind not in "biufc":\n',
        "problem/test_noise.py::test_noise_that_is_no_real_number_is_refused",
    ),
    Mutant(
        "degrees of freedom of a covariance are its features",
        "problem/ellipsoids.py",
        "        return self.rank\n",
        "        return n_features\n",
        "problem/test_covariance.py::"
        "test_the_radius_for_noise_along_one_direction_is_that_of_one_normal",
    ),
    Mutant(
        "no features accepted for a radius",
        "problem/validation.py",
        "if not number or not least <= value <= _LARGEST",
        "if not number or not 0 <= value <= _LARGEST",
        "measurement/test_radius.py::test_bad_arguments_are_named",
    ),
]
