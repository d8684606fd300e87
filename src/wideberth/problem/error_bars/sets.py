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
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from wideberth.problem.arrays import namespace, pick
from wideberth.problem.error_bars.sums import (
    NO_PUSHES,
    Pushes,
    descended,
    gauged,
    ratio,
)
from wideberth.problem.limits import CACHED_ENTRIES, DEVICE_ENTRIES, power_of_two
from wideberth.problem.rows import Passes, Rows, gamma
from wideberth.problem.shape import normals

#: Size that r_i(w) is rounded off by, relative to that of the set times ‖w‖: a choice
#: that leaves δ_i where it is but for a w that the set hardly sees.
_LEAST_SIZE = 1e-10


class ErrorBars(ABC):
    """One set for every sample."""

    name: str
    #: The radius where none is given: as far as the errors reach.
    default_radius = 1.0
    #: Whether r_i is differentiable wherever it is positive.
    smooth = True
    #: Whether noise is a sum over features: boxes.
    separable = False
    #: Whether sets are given as matrices and kept as factors: covariances.
    by_factors = False
    #: Whether the errors are kept by another library than NumPy and SciPy.
    on_device = False
    #: What shapes of noise that all samples share may be, and sets per sample are not.
    isotropic, axes, rotation_error, support_error = False, None, 0.0, 0.0

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

    def size_errors(self, w: np.ndarray) -> np.ndarray | float:
        """What rounding changes r_i(w) by, beyond `gamma(d + 8)` of it."""
        return 0.0

    @property
    def offsets(self) -> np.ndarray | None:
        """From each measurement to the middle of its set; None if that is where it is.

        Beside `offsets` all but `rises` and `moves` is about the set around its middle.
        """
        return None

    def rises(self, w: np.ndarray) -> np.ndarray:
        """max ⟨w,δ⟩ over moves δ of each measurement; r_i(w) but for lopsided boxes."""
        return self.supports(w)

    def moves(self, w: np.ndarray) -> np.ndarray:
        """Moves that attain it, one in a row."""
        return self.gradients(w, self.supports(w))

    def support_errors(self, w: np.ndarray) -> np.ndarray | float:
        """How far κ_i(w) of the sets as given is from r_i(w), beyond that share.

        The two are the same but for covariances, which are given as matrices S_i and
        kept as factors.
        """
        return 0.0

    def open_errors(self, w: np.ndarray, radius: float) -> np.ndarray | float:
        """Largest |κ_i(u) − r_i(u)| over all u within `radius` of w."""
        return 0.0

    def factor_errors(self) -> np.ndarray | float:
        """Largest |κ_i(u) − r_i(u)| over ‖u‖ ≤ 1."""
        return 0.0

    @abstractmethod
    def lipschitz(self) -> np.ndarray:
        """The largest r_i(w) over ‖w‖₂ ≤ 1, or more."""

    @abstractmethod
    def pull(self, a: np.ndarray, w: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_iδ_i at w, with sizes ≥ r_i(w)."""

    @property
    @abstractmethod
    def pull_rounding(self) -> float:
        """Bound on the error of `pull`, relative to Σ a_i·lipschitz_i."""

    @abstractmethod
    def gradients(self, w: np.ndarray, sizes: np.ndarray, rows=slice(None)):
        """δ_i at w of the samples `rows`, one in a row; `sizes` are theirs."""

    def inscribed(self, a: np.ndarray) -> float:
        """The radius of a Euclidean ball inside Σ a_iU_i; 0 where none is known."""
        return 0.0

    @staticmethod
    @abstractmethod
    def closest(
        pushes: Pushes,
        d: np.ndarray,
        near: np.ndarray | None,
        rough: bool = False,
        worth: float = 0.0,
    ) -> np.ndarray:
        """About the shortest v = d − Σa_iδ_i; `near` is a guess of it.

        `rough` where the next α will ask anew; `worth` is what ½‖v‖² is taken from, so
        that it tells which decreases do not matter.
        """

    @staticmethod
    @abstractmethod
    def gauge(
        pushes: Pushes, d: np.ndarray, most=np.inf, fixed: Pushes = NO_PUSHES
    ) -> tuple[float, float]:
        """Bounds on the least t ≥ 0 with d ∈ tΣa_iU_i; rough if over `most`.

        `fixed` sets are added whatever t is.
        """

    def left_out(self, w: np.ndarray) -> np.ndarray:
        """A mask of features that have weight 0 in a w(α) = w for the noise's sake."""
        return np.zeros(w.size, dtype=bool)

    def penalty(self, s: float) -> Pushes:
        """What a norm penalty s‖w‖₁ adds to the sets."""
        raise ValueError(
            f"norm_penalty={s:g} beside X_err goes with boxes (error_shape='box'), "
            "whose noise is a sum over features as it is; ellipsoids and covariances "
            "share no norm with it. Choose error_shape='box', or norm_penalty=0."
        )

    def cells(self, i, j) -> np.ndarray:
        """Under boxes e_ij, of samples i and features j together."""
        raise NotImplementedError(f"{self.name} error bars are not separable")

    def box(self, a: np.ndarray) -> np.ndarray:
        """Under boxes Σ a_ie_ij of every feature."""
        raise NotImplementedError(f"{self.name} error bars are not separable")

    @abstractmethod
    def conic(self, cp, w):
        """r_i(w) as an expression of CVXPY, the module `cp`."""

    def support(self, w: np.ndarray) -> float:
        """The largest r_i(w)."""
        return float(self.supports(w).max(initial=0.0))

    def outlines(self) -> np.ndarray:
        """Points around the boundaries of U_i in two dimensions, (n, points, 2)."""
        around = [self.gradients(w, self.supports(w)) for w in normals()]
        return np.stack(around, axis=1)

    @property
    def magnitude(self) -> float:
        """The power of two next to the largest error; 1 where there is none."""
        return power_of_two(math.frexp(self.largest)[1]) if self.largest > 0 else 1.0

    def divided(self, factor: float) -> ErrorBars:
        """The sets `factor` times smaller."""
        return self if factor == 1.0 else self.scaled(1 / factor)

    @abstractmethod
    def tangents(self, z: np.ndarray, radii, w: np.ndarray, rows) -> Tangents:
        """κ_i = ρ_ir_i about w for the samples `rows`, beside their z_i."""

    @abstractmethod
    def count_with(self, passes: Passes) -> None:
        """Count reads of the errors together with those of the rows."""

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

    def sizes(self, w: np.ndarray) -> np.ndarray:
        """Numbers of at least r_i(w), and not zero where a set is not a point."""
        least = _LEAST_SIZE * float(np.linalg.norm(w)) * self.lipschitz()
        above = namespace(least).hypot(self.supports(w), least)
        return (1 + gamma(2 * self.d + 16)) * above + self.size_errors(w)

    @abstractmethod
    def tables(self) -> list[Rows]:
        """All numbers that make two sets differ, in rows."""

    @abstractmethod
    def take(self, J) -> Self:
        """The sets of some samples."""

    def on_host(self) -> ErrorBars:
        """The same in NumPy, wherever they live."""
        return self

    @abstractmethod
    def scaled(self, factor: float) -> ErrorBars:
        """The sets `factor` times as large."""

    @abstractmethod
    def joined(self, other: ErrorBars) -> ErrorBars:
        """These sets, and then those."""

    @abstractmethod
    def carried(self, linear: sp.csr_array) -> ErrorBars:
        """The sets AU_i for a linear map A, with r_i(Aᵀw)."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest error of any feature of any sample."""


class SmoothBars(ErrorBars):
    """Sets with r_i(w) = √(wᵀS_iw)."""

    @staticmethod
    def closest(pushes, d, near, rough=False, worth=0.0):
        """By descent."""
        return descended(pushes, d, near, rough, worth)

    @staticmethod
    def gauge(pushes, d, most=np.inf, fixed=NO_PUSHES):
        """Between two bounds, which meet; beside these sets none are fixed."""
        return gauged(pushes + fixed, d, most)

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

    @abstractmethod
    def gram(self, a: np.ndarray) -> np.ndarray:
        """Σ a_iF_iF_iᵀ."""


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


@dataclass(frozen=True)
class OwnNoise:
    """How far each sample may move: within ρ_i U_i, a set for each (theory §8)."""

    bars: ErrorBars
    radii: np.ndarray

    def supports(self, w: np.ndarray):
        """κ_i(w) = ρ_i r_i(w) of every sample."""
        return self.radii * self.bars.supports(w)

    def support_errors(self, w: np.ndarray):
        """How far κ_i(w) may be off, beyond `gamma(d + 8)` of it."""
        return self.radii * self.bars.support_errors(w)

    def lipschitz(self, n_features: int):
        """L_i of every sample: the largest κ_i(w) over ‖w‖₂ ≤ 1."""
        return self.radii * self.bars.lipschitz()

    def cells(self, i, j) -> np.ndarray:
        """Under boxes ρ_ie_ij, of samples i and features j together."""
        return self.radii[i] * self.bars.cells(i, j)

    def box(self, a) -> np.ndarray:
        """Under boxes Σ a_iρ_ie_ij of every feature."""
        return self.bars.box(a * self.radii)

    def folded_box(self, fold) -> np.ndarray:
        """The same of folded samples and of a norm penalty."""
        parts = (bars.box(a) for bars, a in fold.pushes.parts)
        return sum(parts, np.zeros(self.bars.d))

    @property
    def largest(self) -> np.ndarray:
        """L_i, how far a sample moves at most."""
        return self.lipschitz(self.bars.d)

    def total(self, alpha) -> float:
        """0: there is no shape to count Σα_iρ_i for."""
        return 0.0

    def pushes(self, weights, chosen) -> Pushes:
        """The sets of the samples `chosen` with c_iρ_i; all of them, if most are."""
        xp = namespace(weights)
        a = xp.where(chosen, weights * self.radii, 0.0)
        J = xp.nonzero(a)[0]
        if 2 * J.shape[0] > a.shape[0]:  # no copy
            return Pushes(((self.bars, a),))
        return Pushes(((self.bars.take(J), pick(a, J)),))

    def select(self, rows) -> OwnNoise:
        """The noise of some samples, by a slice or indices."""
        return OwnNoise(self.bars.take(rows), self.radii[rows])


def keeps_apart(linear: sp.csr_array) -> bool:
    """Whether no feature reaches two outputs of a linear map."""
    reached = sp.csr_array(linear).astype(bool).sum(axis=0)
    return int(reached.max(initial=0)) <= 1
