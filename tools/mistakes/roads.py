"""Mistakes in what data is taken, and in the screening paper's algorithm."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "robust pipelines read files and Dask collections",
        "estimators/pipeline.py",
        "    if is_scaled(X, y) or is_foreign(X):\n",
        "    if is_foreign(X):\n",
        "test_roads.py::test_what_a_pipeline_cannot_read_is_refused",
    ),
    Mutant(
        "numbers at odd addresses handed to BLAS",
        "problem/validation.py",
        '        flat = np.require(values.ravel(order="K"), requirements="A")\n',
        '        flat = values.ravel(order="K")\n',
        "solvers/test_determinism.py::test_numbers_at_odd_addresses_are_read",
    ),
    Mutant(
        "Algorithm 1 repaired without its saturated samples",
        "wideberth_paper/algorithm1.py",
        '    if variant != "repaired":\n',
        '    if variant != "mended":\n',
        "screening/test_screening.py::test_algorithm1_as_published_removes_what_matters_and_the_"
        "repair_does_not",
    ),
    Mutant(
        "Algorithm 1 as printed with the gap of the free samples",
        "wideberth_paper/algorithm1.py",
        '    if variant != "as_printed":\n',
        '    if variant != "as_said":\n',
        "screening/test_screening.py::test_algorithm1_as_published_removes_what_matters_and_the_"
        "repair_does_not",
    ),
]
