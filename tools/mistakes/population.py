"""Mistakes in the population behind measurements: posteriors, EM and its choices."""

from mistakes.mutant import Mutant

_MODEL = "measurement/population.py"
_ROWS = "measurement/gaussian_rows.py"
_EM = "measurement/em.py"
_TABLES = "measurement/test_tables.py::"
_GAUSSIANS = "measurement/gaussians.py"
_FRONT = "measurement/true_features.py"
_TESTS = "measurement/test_true_features.py::"
_TEXTBOOK = f"{_TESTS}test_posteriors_are_those_of_the_textbook"
_DIGITS = f"{_TESTS}test_errors_of_any_size_lose_no_digits"
_STEP = f"{_TESTS}test_a_step_of_em_is_that_of_the_textbook_and_never_falls"
_EXACT = f"{_TESTS}test_exact_cells_stay_and_rows_without_any_get_the_mean"
_ENDS = f"{_TESTS}test_accelerated_em_never_falls_and_ends_where_plain_em_does"
_UNITS = f"{_TESTS}test_units_and_order_do_not_matter"
_MARGINALS = f"{_TESTS}test_marginals_are_the_maximum_of_the_likelihood"
_COMMON = f"{_TESTS}test_groups_lean_on_what_they_have_in_common"

MUTANTS = [
    Mutant(
        "population: log density without its determinant",
        _ROWS,
        "logs[lane] += np.log(pivots[j, lane]) - 0.5 * _LOG_TWO_PI\n",
        "logs[lane] -= 0.5 * _LOG_TWO_PI\n",
        _TEXTBOOK,
    ),
    Mutant(
        "population: errors left out of S",
        _ROWS,
        "                S[j, j, lane] += variances[row, j]\n",
        "                S[j, j, lane] += 0.0\n",
        _TEXTBOOK,
    ),
    Mutant(
        "population: correlated errors only on the diagonal",
        _ROWS,
        "                for i in range(j + 1):\n"
        "                    S[j, i, lane] += covariances[row, j, i]\n",
        "                S[j, j, lane] += covariances[row, j, j]\n",
        _TEXTBOOK,
    ),
    Mutant(
        "population: posterior from x of cells with large errors",
        _MODEL,
        "(part.variances <= np.diag(spread))",
        "(part.variances < np.inf)",
        _DIGITS,
    ),
    Mutant(
        "population: posterior from the mean for cells with small errors",
        _MODEL,
        "(part.variances <= np.diag(spread))",
        "(part.variances < 0)",
        _EXACT,
    ),
    Mutant(
        "population: posterior covariance without the errors",
        _MODEL,
        "    V = R @ spread @ R.transpose(0, 2, 1) + K @ E @ K.transpose(0, 2, 1)\n",
        "    V = R @ spread @ R.transpose(0, 2, 1)\n",
        _TEXTBOOK,
    ),
    Mutant(
        "population: no scatter between Gaussians",
        _MODEL,
        '    return mean, within + np.einsum("nk,kni,knj->nij", shares, off, off)\n',
        "    return mean, within\n",
        _TEXTBOOK,
    ),
    Mutant(
        "population: no scatter between Gaussians in variances",
        _MODEL,
        "shares, spreads + off**2)",
        "shares, spreads)",
        _TEXTBOOK,
    ),
    Mutant(
        "population: exact cells of mixtures rounded",
        _MODEL,
        "mean=np.where(exact, part.values, centre + scale * self.mean),",
        "mean=centre + scale * self.mean,",
        _EXACT,
    ),
    Mutant(
        "population: covariance about the old mean",
        _MODEL,
        "        scatter = count * (spread - np.outer(move, move))\n",
        "        scatter = count * spread\n",
        _STEP,
    ),
    Mutant(
        "population: prior without its rows in the denominator",
        _MODEL,
        "/ (count + prior.rows[k])",
        "/ count",
        _STEP,
    ),
    Mutant(
        "population: determinant of the prior counted half",
        _MODEL,
        "(np.log(factor.diagonal()).sum() + 0.5 * trace)",
        "(0.5 * np.log(factor.diagonal()).sum() + 0.5 * trace)",
        f"{_TESTS}test_the_prior_has_the_density_of_rows_with_its_covariance",
    ),
    Mutant(
        "population: responsibilities without shares",
        _ROWS,
        "            shares[k, lane] = log_shares[k] + logs[k, lane]\n",
        "            shares[k, lane] = logs[k, lane]\n",
        _STEP,
    ),
    Mutant(
        "population: rows beyond the last counted",
        _ROWS,
        "            shares[k, rows:] = 0.0\n",
        "",
        f"{_TESTS}test_blocks_add_up_to_the_whole",
    ),
    Mutant(
        "population: mixtures of steps accepted at a loss",
        _EM,
        "here is not plain and not objective >= objectives[-1]:\n",
        "here is not plain and not objective > -np.inf:\n",
        _ENDS,
    ),
    Mutant(
        "population: steps mixed with the wrong sign",
        _EM,
        "led[-1] - weights @ (led[:-1] - led[-1])",
        "led[-1] + weights @ (led[:-1] - led[-1])",
        _ENDS,
    ),
    Mutant(
        "population: variance of a feature with its errors",
        _EM,
        "((filled - mean) ** 2 - v)",
        "((filled - mean) ** 2)",
        _MARGINALS,
    ),
    Mutant(
        "population: start without weights of overlap",
        _EM,
        "np.where(overlap > 0, overlap, np.inf)",
        "np.where(overlap > 0, len(part), np.inf)",
        f"{_TESTS}test_moments_start_near_the_truth",
    ),
    Mutant(
        "population: what groups share taken about one mean",
        _GAUSSIANS,
        "        moved = [part.values - mean for part, mean in "
        "zip(parts, means, strict=True)]\n",
        "        moved = [part.values - 0 * mean for part, mean in "
        "zip(parts, means, strict=True)]\n",
        _COMMON,
    ),
    Mutant(
        "population: ν by the rows that were fitted",
        _GAUSSIANS,
        "                likelihood += found.log_likelihood(test)\n",
        "                likelihood += found.log_likelihood(train)\n",
        f"{_TESTS}test_few_rows_are_shrunk_more_than_many_would_be_without_dependence",
    ),
    Mutant(
        "population: one Gaussian per class whatever is likelier",
        "measurement/components.py",
        "> held_out([alike], rows):",
        "> -np.inf:",
        f"{_TESTS}test_auto_has_one_gaussian_per_class_only_where_classes_differ",
    ),
    Mutant(
        "population: units left as they are",
        _FRONT,
        "units = Units(centre, np.where(varying, width, 1.0), varying)",
        "units = Units(centre, np.ones_like(width), varying)",
        _UNITS,
    ),
    Mutant(
        "population: errors of missing cells judged",
        "problem/read_errors.py",
        "        table = values = np.where(missing, 0.0, values)\n",
        "        table = values\n",
        f"{_TESTS}test_a_cell_without_measurement_may_have_any_error",
    ),
    Mutant(
        "population: a sample leads to its own fixed point",
        _EM,
        "led = _coordinates(sampled(point)) + shift",
        "led = _coordinates(sampled(point))",
        f"{_TABLES}test_a_sample_leads_to_where_all_rows_end",
    ),
    Mutant(
        "population: a sample that depends on chunks",
        "measurement/tables.py",
        "ranks[rows] = before + np.arange(len(rows))",
        "ranks[rows] = np.arange(len(rows))",
        f"{_TABLES}test_chunks_are_the_same_as_memory",
    ),
]
