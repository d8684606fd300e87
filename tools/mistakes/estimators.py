"""Mistakes in estimators, pipelines and certificates of samples."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "classes flipped in predict",
        "_linear.py",
        "            numbers = xp.where(values > 0,",
        "            numbers = xp.where(values <= 0,",
        "test_estimators.py::test_labels_of_any_kind",
    ),
    Mutant(
        "class weights forgotten",
        "_linear.py",
        "        return weights * table[numbers]\n",
        "        return weights * (table[numbers] > 0)\n",
        "test_estimators.py::test_class_weights_are_sample_weights",
    ),
    Mutant(
        "certified radius of the runner-up's best",
        "certify.py",
        "    return radii.min(axis=1)\n",
        "    return np.where(np.isinf(radii), 0, radii).max(axis=1)\n",
        "test_certify.py",
    ),
]
