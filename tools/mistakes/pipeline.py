"""Mistakes in carrying noise through steps, and in the proof that they are affine."""

from mistakes.mutant import Mutant

_STEPS = "estimators/test_transformers.py::test_a_step_is_refused_by_name_or_sound"

MUTANTS = [
    Mutant(
        "a tenth passes for the rounding of a step",
        "estimators/affine.py",
        "\n_ROUNDING = 2.0**-32\n",
        "\n_ROUNDING = 1e-1\n",
        _STEPS,
    ),
    Mutant(
        "a tenth passes for the rounding of a float32 step",
        "estimators/affine.py",
        "_SINGLE_ROUNDING = 2.0**-18\n",
        "_SINGLE_ROUNDING = 1e-1\n",
        _STEPS,
    ),
    Mutant(
        "float32 steps judged as float64",
        "estimators/affine.py",
        "    return np.where(single, _SINGLE_ROUNDING, _ROUNDING)\n",
        "    return np.where(single, _ROUNDING, _ROUNDING)\n",
        _STEPS,
    ),
    Mutant(
        "an output judged by the size of the largest one",
        "estimators/affine.py",
        "~(values <= (rounding * level)[columns])",
        "~(values <= np.max(rounding * level))",
        _STEPS,
    ),
    Mutant(
        "steps probed only close to the data",
        "estimators/probes.py",
        "_FARTHEST = 6.0\n",
        "_FARTHEST = 0.0\n",
        _STEPS,
    ),
    Mutant(
        "rows with missing cells not probed",
        "estimators/affine.py",
        "        off[handed_on] = 0.0\n",
        "        off[:] = 0.0\n",
        _STEPS,
    ),
    Mutant(
        "signs for missing cells not probed",
        "estimators/affine.py",
        'name.split("__")[-1] == "missing_values"',
        'name.split("__")[-1] == "missing"',
        _STEPS,
    ),
    Mutant(
        "extremes of the data not probed",
        "estimators/probes.py",
        "np.unique([*_rows_of_extremes(X), *_spread(n, most)])",
        "_spread(n, most)",
        "estimators/test_transformers.py::test_signs_for_missing_values_are_found_however_rare",
    ),
    Mutant(
        "sums with missing cells filled in",
        "estimators/affine.py",
        "        lost |= affine.loses_present\n",
        "",
        "estimators/test_transformers.py::test_sums_with_missing_cells_are_not_filled_in",
    ),
    Mutant(
        "missing cells certified under correlated noise",
        "problem/noise.py",
        "np.ndim(noise) == 2\n",
        "np.ndim(noise) == 3\n",
        "estimators/test_transformers.py::"
        "test_correlated_noise_and_missing_cells_are_refused_together",
    ),
    Mutant(
        "steps read where offsets drown them",
        "estimators/affine.py",
        "_READING = 2.0**20\n",
        "_READING = 1.0\n",
        "estimators/test_pipeline.py::test_small_features_beside_large_offsets_are_read_exactly",
    ),
    Mutant(
        "only the last step carries noise",
        "estimators/affine.py",
        "lambda before, A: A @ before",
        "lambda before, A: A",
        "estimators/test_pipeline.py::test_carried_noise_has_the_support_function_of_the_raw_one",
    ),
    Mutant(
        "the last step blamed for one before it",
        "estimators/affine.py",
        "            yield from steps_of(step, inner_name)\n",
        "            yield from steps_of(step, transformer.steps[-1][0])\n",
        "estimators/test_transformers.py::test_the_step_that_bends_is_named",
    ),
]
