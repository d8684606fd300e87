"""What a user states about a problem, apart from the samples themselves.

`solve`, `path`, `critical_radius`, `screen` and the estimators take the same keywords,
make one `Statement` of them and pass that on. It checks what can be checked without the
data.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from wideberth.problem.validation import check_number, radius_or_default, short

T = TypeVar("T")


def from_keywords(cls: type[T], given: Mapping[str, object]) -> T:
    """A `Statement`, or other dataclass, of the arguments that are named like fields.

    Functions that take such keywords hand over their `locals()`.
    """
    names = cls.__dataclass_fields__  # type: ignore[attr-defined]
    return cls(**{name: given[name] for name in names if name in given})


@dataclass(frozen=True, kw_only=True, eq=False)
class Statement:
    """A robust SVM but for its samples; `solve` says what the fields mean."""

    C: float = 1.0
    radius: ArrayLike | None = None
    noise: object = "l2"
    X_err: object = None
    error_shape: str = "ellipsoid"
    norm_penalty: float = 0.0
    fit_intercept: bool = True
    intercept_penalty: float = 0.0
    sample_weight: ArrayLike | None = None
    ramp: float | None = None
    loss: str = "hinge"
    quantile: float = 0.5

    def __post_init__(self) -> None:
        check_number(self.C, "C", positive=True)
        check_number(self.norm_penalty, "norm_penalty")
        flag = isinstance(self.fit_intercept, bool | np.bool_ | numbers.Integral)
        if not flag or self.fit_intercept not in (0, 1):  # text such as "no" is true
            raise ValueError(
                f"fit_intercept={short(self.fit_intercept)} must be True or False."
            )
        penalty = check_number(self.intercept_penalty, "intercept_penalty")
        if not self.fit_intercept and penalty:
            raise ValueError(
                f"intercept_penalty={self.intercept_penalty!r} needs "
                "fit_intercept=True."
            )
        check_ramp(self.ramp)
        self._check_loss()

    def _check_loss(self) -> None:
        if self.loss not in ("hinge", "quantile"):
            raise ValueError(
                f"loss={short(self.loss)} is not known; it must be 'hinge', for "
                "classes, or 'quantile', for numbers."
            )
        level = check_number(self.quantile, "quantile", "a number between 0 and 1")
        if not 0 < level < 1:
            raise ValueError(
                f"quantile={self.quantile!r} must lie between 0 and 1; 0.5 is the "
                "median."
            )
        if self.loss == "hinge" and level != 0.5:
            raise ValueError(
                f"quantile={self.quantile!r} is for numbers; say loss='quantile', too."
            )
        if self.loss == "quantile" and self.level > -np.inf:
            raise ValueError(
                f"ramp={self.ramp!r} is for classes whose labels may be wrong; leave "
                "it out with loss='quantile', which bears outliers."
            )

    @property
    def tilt(self) -> float:
        """q = min(τ, 1 − τ) of the quantile loss (theory §15); 0 for the hinge."""
        return min(self.quantile, 1 - self.quantile) * (self.loss == "quantile")

    @property
    def side(self) -> float:
        """s of all samples under the quantile loss: +1 for τ > ½, −1 otherwise."""
        return 1.0 if self.quantile > 0.5 else -1.0

    @property
    def intercept(self) -> float | None:
        """None without an intercept b, 0 for a free one, or its penalty λ_b."""
        return float(self.intercept_penalty) if self.fit_intercept else None

    @property
    def level(self) -> float:
        """The level a of the ramp; −∞ is the hinge."""
        return check_ramp(self.ramp)

    @property
    def radius_or_default(self) -> ArrayLike:
        """ρ; where none is stated, 1 beside scales or error bars and 0 otherwise."""
        return radius_or_default(self.radius, self.noise, self.X_err)


def check_ramp(ramp) -> float:
    """A level a ≤ 0 of the ramp; −∞, which is the hinge, where there is none."""
    if ramp is None or (isinstance(ramp, float) and ramp == -np.inf):
        return -np.inf
    real = isinstance(ramp, numbers.Real) and not isinstance(ramp, bool)
    if not real or not ramp <= 0:
        raise ValueError(
            f"ramp={short(ramp)} must be None (the hinge) or a number ≤ 0: the margin "
            "below which a sample costs no more; −1 is usual."
        )
    return float(ramp)
