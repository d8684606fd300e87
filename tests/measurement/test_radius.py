"""Each helper states a probability; each is held against simulation."""

import numpy as np
import pytest
from scipy import stats

from wideberth.measurement.radius import noise_from_replicates, radius_from_std
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


def test_replicates_give_unbiased_scales_and_radii_that_cover_a_further_reading():
    rng = np.random.default_rng(4)
    tables, w = 3000, rng.normal(size=4)
    squares, held = np.empty((tables, 4)), np.empty((tables, 3))
    for k in range(tables):
        truth = rng.normal(size=(3, 4))
        groups = [
            t + SCALES * rng.normal(size=(r, 4))
            for t, r in zip(truth, (1, 2, 60), strict=True)
        ]
        scales, radii = noise_from_replicates(groups, 0.9)
        squares[k] = scales**2
        further = truth + SCALES * rng.normal(size=(3, 4))
        moves = further - np.array([group.mean(axis=0) for group in groups])
        held[k] = moves @ w >= -radii * np.linalg.norm(scales * w)
    standard_error = squares.std(axis=0) / np.sqrt(tables)
    assert np.all(np.abs(squares.mean(axis=0) - SCALES**2) < 5 * standard_error)
    assert happens(held.ravel(), 0.9, exact=True)


def test_a_radius_covers_margins_unless_asked_for_more():
    assert radius_from_std(0.1, 30) == radius_from_std(0.1, 30, covers="margin")
    assert radius_from_std(0.1, 30) < radius_from_std(0.1, 30, covers="sample")


def test_one_standard_deviation_per_sample_gives_one_radius_each():
    radii = radius_from_std(np.array([0.1, 0.2]), 5)
    np.testing.assert_allclose(radii[1], 2 * radii[0])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: radius_from_std(-0.1, 3), "std is -0.1"),
        (lambda: radius_from_std(0.1, 3, covers="all"), "covers='all'"),
        (lambda: radius_from_std(0.1, 3, noise="l3"), "noise='l3'"),
        (lambda: radius_from_std(0.1, 0), "n_features=0"),
        (lambda: radius_from_std(0.1, -3), "n_features=-3"),
        (lambda: radius_from_std(0.1, 2.5), "n_features=2.5"),
        (lambda: radius_from_std(0.1, True), "n_features=True"),
        (lambda: radius_from_std(0.1, "4"), "n_features='4'"),
        (lambda: radius_from_std(np.nan, 4), "std is nan"),
        (lambda: radius_from_std(0.1, 2, noise=np.array([1, 1j])), "noise"),
    ],
)
def test_bad_arguments_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize("noise", ["l2", "linf", "l1"])
@pytest.mark.parametrize("confidence", [0.3, 0.9])
def test_radii_of_an_instrument_are_those_of_the_table(noise, confidence):
    d, root = 5, np.sqrt(5) if noise == "l1" else 1.0
    margin = max(stats.norm.ppf(confidence), 0.0)
    found = radius_from_std(0.3, d, confidence=confidence, noise=noise)
    assert found == pytest.approx(0.3 * root * margin)
    sample = stats.chi.ppf(confidence, d) * root
    if noise == "linf":
        sample = stats.norm.ppf((1 + confidence ** (1 / d)) / 2)
    options = {"confidence": confidence, "noise": noise, "covers": "sample"}
    assert radius_from_std(0.3, d, **options) == pytest.approx(0.3 * sample)


def test_noise_on_few_features_or_none_has_their_degrees_of_freedom():
    few = radius_from_std(1.0, 3, noise=[1.0, 0.0, 0.0], covers="sample")
    assert few == pytest.approx(stats.chi.ppf(0.95, 1))
    none = radius_from_std(1.0, 3, noise=[0.0, 0.0, 0.0], covers="sample")
    assert none == pytest.approx(stats.chi.ppf(0.95, 1))


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 1.1, "0.9", np.nan, None])
def test_a_confidence_is_a_probability(confidence):
    with pytest.raises(ValueError, match="probability between 0 and 1"):
        radius_from_std(1.0, 3, confidence=confidence)
