"""Each helper states a probability; each is held against simulation."""

import doctest

import numpy as np
import pytest

import wideberth.measurement.radius
from wideberth.measurement.radius import (
    radius_from_imputations,
    radius_from_replicates,
    radius_from_std,
    scales_from_replicates,
)
from wideberth.noise import as_shape

SCALES = np.array([0.2, 1.0, 3.0, 0.7])
ROOT = np.array([[1.0, 0, 0, 0], [0.8, 0.5, 0, 0], [0, 0.3, 2.0, 0], [0, 0, 0.1, 1.0]])
NOISES = {
    "l2": "l2",
    "linf": "linf",
    "l1": "l1",
    "scales": SCALES,
    "full": ROOT @ ROOT.T,
}
DRAWS = 20_000


def draw(rng, noise, shape):
    """Gaussian noise of unit level in the units of a noise shape; last axis features."""
    white = rng.normal(size=(*shape, 4))
    if isinstance(noise, str):
        return white
    return white @ ROOT.T if noise.ndim == 2 else white * noise


def happens(events, confidence, exact):
    """Whether a frequency agrees with a probability, to five standard errors."""
    error = 5 * np.sqrt(confidence * (1 - confidence) / len(events))
    frequency = np.mean(events)
    return frequency > confidence - error and (
        not exact or frequency < confidence + error
    )


def covered(covers, moves, radii, noise, rng):
    """Which moves the promise of a radius holds for; one fixed w for margins."""
    shape = as_shape(noise, 4)
    if covers == "sample":
        return np.array([shape.dual_norm(move) for move in moves]) <= radii
    w = rng.normal(size=4)
    return moves @ w >= -radii * shape.support(w)


@pytest.mark.parametrize("covers", ["sample", "margin"])
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_radius_from_std_covers_as_often_as_it_says(name, covers, confidence):
    rng, noise = np.random.default_rng(1), NOISES[name]
    radius = radius_from_std(0.3, 4, confidence=confidence, noise=noise, covers=covers)
    moves = 0.3 * draw(rng, noise, (DRAWS,))
    exact = name in ("l2", "scales", "full") or (name, covers) == ("linf", "sample")
    assert happens(covered(covers, moves, radius, noise, rng), confidence, exact)


@pytest.mark.parametrize("covers", ["sample", "margin"])
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize(
    "between", ["mean and truth", "reading and truth", "mean and reading"]
)
def test_radius_from_replicates_covers_as_often_as_it_says(name, covers, between):
    rng, noise, truth = np.random.default_rng(2), NOISES[name], np.arange(4.0)
    levels = rng.uniform(0.1, 5, size=DRAWS // 4)  # each sample has a level of its own
    replicates = truth + levels[:, None, None] * draw(rng, noise, (DRAWS // 4, 3))
    radii = radius_from_replicates(
        replicates, confidence=0.9, noise=noise, covers=covers, between=between
    )
    mean = replicates.mean(axis=1)
    reading = truth + levels[:, None] * draw(rng, noise, (DRAWS // 4,))
    moves = {
        "mean and truth": truth - mean,
        "reading and truth": truth - reading,
        "mean and reading": reading - mean,
    }[between]
    held = covered(covers, moves, radii, noise, rng)
    assert happens(held, 0.9, exact=name in ("l2", "scales", "full"))


def test_more_replicates_give_smaller_radii_and_may_differ_in_number():
    rng = np.random.default_rng(3)
    few, many = rng.normal(size=(2, 4)), rng.normal(size=(50, 4))
    radii = radius_from_replicates([few, many])
    assert radii.shape == (2,)
    assert radii[1] < 0.5 * radii[0]


def test_scales_from_replicates_are_unbiased_and_bounded_as_stated():
    rng = np.random.default_rng(4)
    truth = rng.normal(size=(2000, 6, 1, 4))
    tables = truth + SCALES * rng.normal(size=(2000, 6, 3, 4))
    squares = np.array([scales_from_replicates(table) ** 2 for table in tables])
    standard_error = squares.std(axis=0) / np.sqrt(len(squares))
    assert np.all(np.abs(squares.mean(axis=0) - SCALES**2) < 5 * standard_error)
    upper = np.array([scales_from_replicates(t, confidence=0.9) for t in tables])
    for j in range(4):
        assert happens(upper[:, j] >= SCALES[j], 0.9, exact=True)


@pytest.mark.parametrize("name", NOISES)
def test_radius_from_imputations_covers_a_further_draw(name):
    rng, noise = np.random.default_rng(5), NOISES[name]
    # Any law will do: skewed draws, and rows that do not depend on them.
    draws = np.exp(draw(rng, noise, (20, 4000)))
    center, truth = np.ones((4000, 4)), np.exp(draw(rng, noise, (4000,)))
    radii = radius_from_imputations(
        draws, confidence=0.8, covers="sample", noise=noise, center=center
    )
    held = covered("sample", truth - center, radii, noise, rng)
    assert happens(held, 17 / 21, exact=True)  # ⌈0.8·21⌉ = 17
    about_mean = radius_from_imputations(
        draws, confidence=0.8, covers="sample", noise=noise
    )
    held = covered("sample", truth - draws.mean(axis=0), about_mean, noise, rng)
    assert abs(held.mean() - 17 / 21) < 0.05  # in the limit of many draws


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("name", NOISES)
def test_radius_from_imputations_covers_margins_as_often_as_it_says(name, moved):
    rng, noise = np.random.default_rng(6), NOISES[name]
    draws, truth = draw(rng, noise, (6, DRAWS // 4)), draw(rng, noise, (DRAWS // 4,))
    draws[:, ::2, 0] = truth[::2, 0] = 0.0  # known in every other row
    center = draws.mean(axis=0) + (0.1 if moved else 0.0)
    radii = radius_from_imputations(draws, confidence=0.9, noise=noise, center=center)
    held = covered("margin", truth - center, radii, noise, rng)
    assert happens(held, 0.9, exact=False)
    if not moved:
        assert np.array_equal(
            radii, radius_from_imputations(draws, confidence=0.9, noise=noise)
        )


def test_a_margin_along_one_direction_is_covered_exactly():
    rng = np.random.default_rng(7)
    draws, truth = rng.normal(size=(5, DRAWS, 1)), rng.normal(size=(DRAWS, 1))
    radii = radius_from_imputations(draws, confidence=0.9)
    assert happens(truth[:, 0] - draws.mean(axis=0)[:, 0] >= -radii, 0.9, exact=True)


def test_rows_without_missing_entries_have_radius_zero():
    tables = np.ones((9, 3, 2))
    tables[:, 1, 0] = np.arange(9)
    radii = radius_from_imputations(list(tables), confidence=0.5, covers="sample")
    np.testing.assert_array_equal(radii, [0, 2, 0])  # 5th smallest of |0…8 − 4|
    for noise in ("l2", "linf", "l1"):
        radii = radius_from_imputations(list(tables), noise=noise)
        np.testing.assert_array_equal(radii > 0, [False, True, False])


def test_features_without_noise_cost_nothing():
    scales = np.array([1.0, 0.0, 2.0])
    expected = radius_from_std(1.0, 2, covers="sample")
    found = radius_from_std(1.0, 3, noise=scales, covers="sample")
    assert found == pytest.approx(expected)


def test_a_radius_covers_margins_unless_asked_for_more():
    assert radius_from_std(0.1, 30) == radius_from_std(0.1, 30, covers="margin")
    assert radius_from_std(0.1, 30) < radius_from_std(0.1, 30, covers="sample")
    replicates = np.random.default_rng(0).normal(size=(5, 3, 4))
    margin = radius_from_replicates(replicates, covers="margin")
    np.testing.assert_array_equal(radius_from_replicates(replicates), margin)


def test_one_standard_deviation_per_sample_gives_one_radius_each():
    radii = radius_from_std(np.array([0.1, 0.2]), 5)
    np.testing.assert_allclose(radii[1], 2 * radii[0])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: radius_from_std(0.1, 3, confidence=95), "confidence=95"),
        (lambda: radius_from_std(-0.1, 3), "std is -0.1"),
        (lambda: radius_from_std(0.1, 3, covers="all"), "covers='all'"),
        (lambda: radius_from_std(0.1, 3, noise="l3"), "noise='l3'"),
        (lambda: radius_from_replicates(np.ones((2, 1, 3))), "sample 0 have shape"),
        (lambda: radius_from_replicates([]), "replicates is empty"),
        (lambda: radius_from_replicates(np.full((1, 2, 3), np.nan)), "not finite"),
        (
            lambda: radius_from_replicates(np.ones((1, 2, 3)), between="us"),
            "between='us'",
        ),
        (
            lambda: radius_from_replicates(np.ones((1, 2, 2)), noise=[0.0, 1.0]),
            "scale of 0",
        ),
        (
            lambda: radius_from_imputations(np.ones((3, 2, 2)), covers="sample"),
            "confidence=0.95 needs more",
        ),
        (
            lambda: radius_from_imputations(np.ones((3, 2))),
            "imputations has tables of shape",
        ),
        (lambda: radius_from_std(0.1, 0), "n_features=0"),
        (lambda: radius_from_std(0.1, -3), "n_features=-3"),
        (lambda: radius_from_std(0.1, 2.5), "n_features=2.5"),
        (lambda: radius_from_std(0.1, True), "n_features=True"),
        (lambda: radius_from_std(0.1, "4"), "n_features='4'"),
        (lambda: radius_from_std(np.nan, 4), "std is nan"),
        (lambda: radius_from_std(0.1, 3, confidence=np.nan), "confidence=nan"),
        (lambda: radius_from_std(0.1, 2, noise=np.array([1, 1j])), "noise"),
        (
            lambda: radius_from_replicates(np.ones((1, 2, 3)), between=["us"]),
            "between=",
        ),
        (
            lambda: radius_from_replicates(np.ones((1, 2, 2)), noise=np.ones((2, 2))),
            "rank 1",
        ),
        (
            lambda: radius_from_replicates([np.ones((2, 3)), np.ones((2, 4))]),
            "sample 1 have shape",
        ),
        (lambda: radius_from_replicates(np.ones((1, 2, 3)) * 1j), "sample 0"),
        (lambda: radius_from_imputations([]), "imputations is empty"),
        (
            lambda: radius_from_imputations(
                [np.ones((2, 2))] * 8 + [np.full((2, 2), np.nan)]
            ),
            r"imputation 8: the entry \[0, 0\] is nan",
        ),
        (
            lambda: radius_from_imputations(
                np.ones((9, 2, 2)), center=np.array([[0.0, 1], [np.nan, 2]])
            ),
            r"center: the entry \[1, 0\] is nan",
        ),
        (
            lambda: radius_from_imputations(np.ones((9, 2, 2)), center=np.ones(2)),
            r"center has shape \(2,\)",
        ),
        (
            lambda: radius_from_imputations(np.ones((9, 2, 2)), center=np.ones((1, 2))),
            r"center has shape \(1, 2\)",
        ),
        (
            lambda: radius_from_imputations(np.ones((9, 2, 2)), confidence=np.nan),
            "confidence=nan",
        ),
        (
            lambda: radius_from_imputations(np.ones((1, 2, 2))),
            "at least two are needed",
        ),
    ],
)
def test_bad_arguments_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_the_examples_in_the_documentation_hold():
    assert doctest.testmod(wideberth.measurement.radius).failed == 0
