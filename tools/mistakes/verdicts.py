"""Mistakes in verdicts, certificates and probabilities behind `TrueFeatures`."""

from mistakes.mutant import Mutant

_VERDICT = "estimators/verdict.py"
_PARTS = "estimators/denoised.py"
_CALIBRATION = "estimators/spread_calibration.py"
_FOLDS = "estimators/left_out.py"
_SCORING = "estimators/scoring.py"
_TESTS = "estimators/test_verdict.py::"
_OWN = "estimators/test_measured_svc.py::"
_CELL = f"{_TESTS}test_the_cell_to_repeat_is_the_one_that_helps_most_when_it_is_known"
_CHANCE = f"{_TESTS}test_the_chance_is_that_of_drawing_true_features"
_RADIUS = f"{_TESTS}test_certified_radius_is_where_the_class_changes"
_CALIBRATED = f"{_OWN}test_the_calibration_maximises_the_likelihood"

MUTANTS = [
    Mutant(
        "verdict: spread in place of variance under Φ",
        _VERDICT,
        "        spreads = np.sqrt(np.maximum(variances, 0.0))\n",
        "        spreads = np.maximum(variances, 0.0)\n",
        _CHANCE,
    ),
    Mutant(
        "verdict: the chance of the runner-up alone",
        _VERDICT,
        "np.minimum(chances.sum(axis=1), 1.0)",
        "np.minimum(chances.max(axis=1), 1.0) / 2",
        _CHANCE,
    ),
    Mutant(
        "verdict: mixtures by their largest share",
        _VERDICT,
        "    return np.sum(shares.T * ndtr(-ratios), axis=0)\n",
        "    return ndtr(-ratios)[shares.T.argmax(axis=0), np.arange(len(shares))]\n",
        f"{_TESTS}test_several_gaussians_are_summed_over",
    ),
    Mutant(
        "verdict: the cell with the largest pull",
        _VERDICT,
        '    falls = pull**2 * ratio(1.0, np.einsum("ndd->nd", found.covariance))\n',
        "    falls = pull**2\n",
        _CELL,
    ),
    Mutant(
        "verdict: the cell with the largest variance of its own",
        _VERDICT,
        '    falls = pull**2 * ratio(1.0, np.einsum("ndd->nd", found.covariance))\n',
        '    falls = u**2 * np.einsum("ndd->nd", found.covariance)\n',
        _CELL,
    ),
    Mutant(
        "verdict: certain at the wrong end",
        _VERDICT,
        "certain=chance <= 1 - confidence",
        "certain=chance <= confidence",
        _CHANCE,
    ),
    Mutant(
        "certificate: gaps may move",
        _PARTS,
        "ratio(1.0, np.where(np.isnan(Z), 0.0, spread))",
        "ratio(1.0, spread)",
        _RADIUS,
    ),
    Mutant(
        "certificate: posterior covariance as the set",
        _PARTS,
        "        roots = found.covariance * inverse[:, None, :]\n",
        "        roots = found.covariance * (inverse > 0)[:, None, :]\n",
        _RADIUS,
    ),
    Mutant(
        "certificate: worst move in units of the scaled data",
        _PARTS,
        "        moves = variances * ((parts * inverse) @ linear)\n",
        "        moves = variances * (parts * inverse)\n",
        _RADIUS,
    ),
    Mutant(
        "certificate: radii of training for errors of measurements",
        _PARTS,
        "        return radii_of(radius_or_default(radius, measured=True), y)\n",
        "        return self.classifier._radii(y, radius, X_err)\n",
        f"{_TESTS}test_robust_score_counts_what_no_move_can_change",
    ),
    Mutant(
        "posterior: raw errors behind a scaler",
        _PARTS,
        "        return np.sqrt(variances @ (linear * linear).T)\n",
        "        return np.sqrt(variances)\n",
        f"{_TESTS}test_the_pipeline_is_its_steps_one_by_one",
    ),
    Mutant(
        "posterior: covariances carried on one side",
        _PARTS,
        "    return A @ matrices @ A.T\n",
        "    return A @ matrices @ A\n",
        f"{_TESTS}test_steps_that_mix_features_carry_covariances",
    ),
    Mutant(
        "posterior: filled gaps count as exact",
        _PARTS,
        "    if filled.any() and linear.shape[0] >= linear.shape[1]:\n",
        "    if False:\n",
        f"{_OWN}test_what_cannot_go_before_true_features_is_refused",
    ),
    Mutant(
        "calibration: probabilities that do not know the spread",
        _CALIBRATION,
        "    root = np.sqrt(1 + (a * scores.spreads) ** 2)\n",
        "    root = np.sqrt(1 + 0 * scores.spreads)\n",
        f"{_OWN}test_the_average_over_true_values_is_as_drawn",
    ),
    Mutant(
        "calibration: slope without the spread's part",
        _CALIBRATION,
        "    by_a = scores.values / root - t * a * scores.spreads**2 / root**2\n",
        "    by_a = scores.values / root\n",
        _CALIBRATED,
    ),
    Mutant(
        "calibration: slope left in units of the fit",
        _CALIBRATION,
        "        return cls(float(found.x[0]) / size, float(found.x[1]))\n",
        "        return cls(float(found.x[0]), float(found.x[1]))\n",
        _CALIBRATED,
    ),
    Mutant(
        "choice: rows left out without their errors",
        _FOLDS,
        "        found = [parts.posterior(part.X, part.E) for part in rows]\n",
        "        found = [parts.posterior(part.X, 0) for part in rows]\n",
        f"{_OWN}test_choices_are_made_on_rows_left_out_with_their_errors",
    ),
    Mutant(
        "fit: rows of weight 0 make the population",
        _FOLDS,
        "        return self.take(self.weights > 0)\n",
        "        return self.take(self.weights >= 0)\n",
        f"{_OWN}test_rows_of_weight_0_might_as_well_be_absent",
    ),
    Mutant(
        "scorer: errors kept from the model",
        _SCORING,
        "            return found(X, X_err=self.X_err)\n",
        "            return found(X, X_err=0)\n",
        f"{_OWN}test_searches_judge_with_the_errors_of_the_rows_left_out",
    ),
]
