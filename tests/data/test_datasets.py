import numpy as np
import pytest

from wideberth.datasets import (
    load_breast_cancer,
    load_galaxies,
    load_spambase,
    paper_preprocess,
)


def test_spambase_is_complete():
    X, y = load_spambase()
    assert X.shape == (4601, 57)
    assert np.sum(y == 1) == 1813
    assert set(y) == {-1, 1}


def test_breast_cancer_has_the_sign_of_the_paper():
    X, y = load_breast_cancer()
    assert X.shape == (569, 30)
    assert np.sum(y == 1) == 357  # benign


def test_preprocessing_standardises_columns_and_normalises_spambase_rows():
    X = paper_preprocess("breast_cancer", load_breast_cancer()[0])
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)
    rows = paper_preprocess("spambase", load_spambase()[0])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)


def test_unknown_data_set_is_named():
    with pytest.raises(ValueError, match="name='iris'"):
        paper_preprocess("iris", np.ones((3, 2)))


def test_galaxies_have_an_error_in_every_cell_that_was_measured():
    sky = load_galaxies()
    assert sky.data.shape == sky.errors.shape == (10_225, 6)
    assert sky.feature_names == [f"mag_{band}" for band in "ugrizy"]
    missing = np.isnan(sky.data)
    np.testing.assert_array_equal(np.isnan(sky.errors), missing)
    assert missing.sum(axis=0).tolist() == [714, 2, 0, 0, 0, 0]
    assert (sky.errors[~missing] >= 0.005).all()
    assert abs(np.mean(sky.target == 1) - 0.5) < 0.001
    assert (sky.redshift[sky.target == 1] > sky.redshift[sky.target == -1].max()).all()
