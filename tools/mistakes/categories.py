"""Mistakes about tables of measurements and categories, and about one-hot columns."""

from mistakes.mutant import Mutant

_CODED = "estimators/test_categories.py::test_every_kind_of_table_gives_the_same_model"
_GRAM = "problem/test_rows.py"
_REFUSED = "estimators/test_categories.py::test_noise_on_categories_is_refused_by_name"

MUTANTS = [
    Mutant(
        "categories that are numbers taken for measurements",
        "estimators/categories.py",
        "        exact |= encoded & ~measured\n",
        "",
        _CODED,
    ),
    Mutant(
        "numbers that are measured too taken for categories",
        "estimators/categories.py",
        "        exact |= encoded & ~measured\n",
        "        exact |= encoded\n",
        "estimators/test_categories.py::test_numbers_that_are_measured_and_encoded_"
        "count_as_measured",
    ),
    Mutant(
        "noise on categories dropped in silence",
        "estimators/categories.py",
        "    if moved:\n",
        "    if False:\n",
        _REFUSED,
    ),
    Mutant(
        "steps probed beside one category alone",
        "estimators/probes.py",
        "        if not alike:\n",
        "        if False:\n",
        "estimators/test_categories.py::test_a_measurement_whose_effect_depends_on_a_"
        "category_is_refused",
    ),
    Mutant(
        "a Gram matrix without the square of common values",
        "problem/common_values.py",
        "np.multiply.outer(u + 0.5 * total * self.values, self.values)",
        "np.multiply.outer(u, self.values)",
        _GRAM,
    ),
    Mutant(
        "what a common value is missing from left out",
        "problem/jit.py",
        "            if value != 0.0:\n",
        "            if False:\n",
        _GRAM,
    ),
]
