"""A set per sample: what error bars say about where each measurement may really be.

Sample i moves within ρ_i U_i, U_i closed, convex, bounded and symmetric. What is asked
of the sets (theory §8) is the support function r_i(w) = max_{δ∈U_i} ⟨w,δ⟩ of every
sample, and points of Σ a_i U_i that attain Σ a_i r_i(w), or nearly:

* `Ellipsoids`: a standard error e_ij for every cell, r_i(w) = √⟨e_i²,w²⟩.
* `Covariances`: a covariance S_i for every sample, r_i(w) = √(wᵀS_iw).
* `Boxes`: a tolerance ±e_ij for every cell, r_i(w) = ⟨e_i,|w|⟩.

The first two are smooth but for a kink where r_i = 0. Their δ_i is S_iw divided by a
size of at least r_i(w), which is in U_i, and inside where the size is larger.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from wideberth.noise.sets import Sets
from wideberth.noise.shape import normals
from wideberth.noise.sums import SumOfEllipsoids, ratio
from wideberth.problem.arrays import namespace, pick
from wideberth.problem.limits import CACHED_ENTRIES, DEVICE_ENTRIES, power_of_two
from wideberth.problem.rows import Passes, gamma

#: Size that r_i(w) is rounded off by, relative to that of the set times ‖w‖: a choice
#: that leaves δ_i where it is but for a w that the set hardly sees.
_LEAST_SIZE = 1e-10


class ErrorBars(Sets):
    """One set for every sample."""

    #: As far as the errors reach.
    default_radius = 1.0
    remedy = (
        "X_err holds covariances that are singular within rounding, which leaves the "
        "directions without errors open: give standard errors, lower radius, or add a "
        "small variance to their diagonals"
    )
    #: Whether the errors are kept by another library than NumPy and SciPy.
    on_device = False

    @property
    @abstractmethod
    def n(self) -> int:
        """Samples."""

    @property
    @abstractmethod
    def d(self) -> int:
        """Features."""

    @abstractmethod
    def supports(self, w: np.ndarray) -> np.ndarray:
        """r_i(w) of every sample."""

    @abstractmethod
    def lipschitz(self, n_features: int) -> np.ndarray:
        """The largest r_i(w) over ‖w‖₂ ≤ 1, or more."""

    def rises(self, w: np.ndarray) -> np.ndarray:
        """max ⟨w,δ⟩ over moves δ of each measurement; r_i(w) but for lopsided boxes."""
        return self.supports(w)

    def moves(self, w: np.ndarray) -> np.ndarray:
        return self.gradients(w)

    @abstractmethod
    def gradients(self, w: np.ndarray) -> np.ndarray:
        """δ_i ∈ U_i about the middle of the set with ⟨w,δ_i⟩ = r_i(w), one in a row."""

    def outlines(self) -> np.ndarray:
        """Points around the boundaries of U_i in two dimensions, (n, points, 2)."""
        return np.stack([self.gradients(w) for w in normals()], axis=1)

    @property
    def magnitude(self) -> float:
        """The power of two next to the largest error; 1 where there is none."""
        return power_of_two(math.frexp(self.largest)[1]) if self.largest > 0 else 1.0

    def unit(self, sigma, usual):
        """That of X; another one where errors are of another size."""
        alike = 1 / usual <= self.largest / sigma <= usual
        return sigma if alike or not self.largest else self.magnitude

    def divided(self, factor: float) -> ErrorBars:
        return self if factor == 1.0 else self.scaled(1 / factor)

    @abstractmethod
    def visited(self) -> None:
        """Count one read of all errors."""

    def blocks(self) -> Iterator[tuple[slice, Self]]:
        """Parts that a cache holds, and which rows they are; no read is counted."""
        entries = DEVICE_ENTRIES if self.on_device else CACHED_ENTRIES
        size = max(entries // max(self.d, 1), 1)
        for start in range(0, self.n, size):
            rows = slice(start, min(start + size, self.n))
            part = self.take(rows)
            part.count_with(Passes(self.n))
            yield rows, part

    @abstractmethod
    def scaled(self, factor: float) -> ErrorBars:
        """The sets `factor` times as large."""

    @abstractmethod
    def carried(self, linear: sp.csr_array) -> ErrorBars:
        """The sets AU_i for a linear map A, with r_i(Aᵀw)."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest error of any feature of any sample."""


class SmoothBars(ErrorBars):
    """Sets with r_i(w) = √(wᵀS_iw)."""

    smooth = True

    def sum(self, a, radii):
        return SumOfEllipsoids(((self, a * radii),))

    def folded(self, a, radii):
        """With all sets if most of them are kept: then none is copied."""
        a = a * radii
        J = namespace(a).nonzero(a)[0]
        if 2 * J.shape[0] > a.shape[0]:
            return SumOfEllipsoids(((self, a),))
        return SumOfEllipsoids(((self.take(J), pick(a, J)),))

    def penalty(self, s, n_features):
        if s == 0:
            return SumOfEllipsoids()
        raise ValueError(
            f"norm_penalty={s:g} beside X_err goes with boxes (error_shape='box'), "
            "whose noise is a sum over features as it is; ellipsoids and covariances "
            "share no norm with it. Choose error_shape='box', or norm_penalty=0."
        )

    def size_errors(self, w: np.ndarray) -> np.ndarray | float:
        """What rounding changes r_i(w) by, beyond `gamma(d + 8)` of it."""
        return 0.0

    def open_errors(self, w: np.ndarray, radius: float) -> np.ndarray | float:
        """How far r_i(u) may be from that of the set as given, u within `radius` of w.

        The two are the same but for covariances, which are given as matrices S_i and
        kept as factors.
        """
        return 0.0

    def sizes(self, w: np.ndarray) -> np.ndarray:
        """Numbers of at least r_i(w), and not zero where a set is not a point."""
        least = _LEAST_SIZE * float(np.linalg.norm(w)) * self.lipschitz(self.d)
        above = namespace(least).hypot(self.supports(w), least)
        return (1 + gamma(2 * self.d + 16)) * above + self.size_errors(w)

    @abstractmethod
    def pull(self, a: np.ndarray, w: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_iδ_i at w, with sizes ≥ r_i(w)."""

    @property
    @abstractmethod
    def pull_rounding(self) -> float:
        """Bound on the error of `pull`, relative to Σ a_i·lipschitz_i."""

    def inscribed(self, a: np.ndarray) -> float:
        """The radius of a Euclidean ball inside Σ a_iU_i; 0 where none is known."""
        return 0.0

    def gradients(self, w):
        return self.images(w) * ratio(1.0, self.supports(w))[:, None]

    @abstractmethod
    def factors(self, used: np.ndarray) -> Factors:
        """F_i with S_i = F_iF_iᵀ of all samples, 0 where they are not `used`."""

    @abstractmethod
    def images(self, w: np.ndarray) -> np.ndarray:
        """S_iw, one in a row."""

    def by_columns(self) -> SmoothBars:
        """The same, laid out in memory so that images are quick."""
        return self

    @abstractmethod
    def along(self, w: np.ndarray, u: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """⟨δ_i,u⟩ for the δ_i at w, with sizes ≥ r_i(w)."""

    @abstractmethod
    def pressure(self, a: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_i S_i/sizes_i: a matrix, or its entries where it is diagonal."""

    @abstractmethod
    def curvature(self, a, w: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_i ∇²√(r_i²+ε²), where sizes are those roots."""


class Factors(ABC):
    """Matrices F_i, one for each sample."""

    @abstractmethod
    def images(self, w: np.ndarray) -> np.ndarray:
        """F_iᵀw, one in a row."""

    @abstractmethod
    def lifted(self, parts: np.ndarray) -> np.ndarray:
        """F_ip_i, one in a row."""


class Tangents(NamedTuple):
    """How ψ_i(w) = ⟨w,z_i⟩ − κ_i(w) changes over a ball about a point.

    By at most `rise` times the radius r upwards, and downwards by at most `fall` times
    it and `bend` times r².
    """

    support: np.ndarray  # κ_i at the point
    rise: np.ndarray
    fall: np.ndarray
    bend: np.ndarray


def smooth_tangents(z, radii, images, sizes, reach, off) -> Tangents:
    """Those of r_i = √(wᵀS_iw), `images` S_iw, `reach` the largest r_i of unit w.

    Above, ψ_i lies below its tangent plane. Below, √ lies below its own:
    r_i(w+u) ≤ r_i(w) + ⟨S_iw,u⟩/r_i(w) + uᵀS_iu/2r_i(w), and for any s ≥ r_i(w) in its
    place. `sizes` are r_i(w) up to `off`, F_iᵀw and S_iw up to that and its image.
    """
    above = sizes + off
    moves = images * ratio(radii, above)[:, None]
    slope = np.sqrt(squares(z - moves))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        bend = np.where(reach > 0, 0.5 * radii * reach * (reach / above), 0.0)
    bend = np.where(np.isnan(bend), np.inf, bend) * (1 + gamma(64))
    fall = slope + radii * reach * ratio(off, above)
    return Tangents(radii * sizes, slope, fall, bend)


def squares(rows: np.ndarray) -> np.ndarray:
    """Squared lengths of the rows."""
    return np.einsum("ij,ij->i", rows, rows)


def keeps_apart(linear: sp.csr_array) -> bool:
    """Whether no feature reaches two outputs of a linear map."""
    reached = sp.csr_array(linear).astype(bool).sum(axis=0)
    return int(reached.max(initial=0)) <= 1
