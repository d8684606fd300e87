"""Newton's method for smooth sets per sample, a cone for each (theory §8).

Written with t_i ≥ r_i(w) = ‖F_iᵀw‖, S_i = F_iF_iᵀ, the problem is linear in (w, t, b)
but for a cone per sample:

    min ½‖w‖² + ½λ_b b² + Σ c_i [u_i]_+ ,   u_i = 1 − ⟨w,z_i⟩ − y_i b + ρ_it_i,
    k_i = (t_i, F_iᵀw) ∈ K = {k_0 ≥ ‖k_1‖}

Hinges are treated as in `engine.py`. The multiplier h_i ∈ K of a cone has
h_i0 = α_iρ_i, so −F_ih_i1 is α_i times a point δ_i of ρ_iU_i: every iterate is a dual
point, kinks included (w* = 0, or samples that w* does not see).

Of Newton's matrix only w and b are left: dt_i follows from them. With the Nesterov–Todd
scaling W_i² = ω_i⁻¹(2vvᵀ − J) of (k_i,h_i), θ_i as in `newton/interior.py`, p_i =
F_iv_1 and q = 2v_0² − 1 it is

    Q + Σ ω_iF_iF_iᵀ − Σ (2ω_i/q_i) p_ip_iᵀ + Σ (θ_iω_iq_i/D_i) g_ig_iᵀ ,
    g_i = z_i − (2ρ_iv_0/q_i) p_i ,   D_i = ω_iq_i + ρ_i²θ_i :

two Gram matrices and a diagonal, as many as a rounded-off norm would take, which creeps
at kinks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from wideberth.problem.limits import LITTLE, TINY
from wideberth.solvers.measured.engine import MeasuredEngine
from wideberth.solvers.newton.settings import SETTINGS


@dataclass
class _Cones:
    """The cones k_i with their multipliers h_i, one in a row, and their scaling."""

    k: tuple[np.ndarray, np.ndarray]
    h: tuple[np.ndarray, np.ndarray]

    def scale(self) -> None:
        """Compute W_i at the current point."""
        root_k, root_h = (np.sqrt(_determinant(*part)) for part in (self.k, self.h))
        k = self.k[0] / root_k, self.k[1] / root_k[:, None]
        h = self.h[0] / root_h, self.h[1] / root_h[:, None]
        scale = 1 / np.sqrt(2 * (1 + k[0] * h[0] + _dots(k[1], h[1])))
        self.v0 = (k[0] + h[0]) * scale
        self.v1 = (k[1] - h[1]) * scale[:, None]
        self.omega = root_h / root_k
        self.root = np.sqrt(self.omega)
        self.q = 2 * self.v0**2 - 1
        self.scaled = self.by(self.k, -1)  # λ = W⁻¹k = Wh

    def by(self, part, power: int):
        """W^power times a part, power 1 or −1."""
        first, rest = part
        sign = -1.0 if power < 0 else 1.0
        along = _dots(self.v1, rest)
        size = self.root if power < 0 else 1 / self.root
        lead = self.v0 * first + sign * along
        factor = sign * first + along / (1 + self.v0)
        return size * lead, size[:, None] * (rest + factor[:, None] * self.v1)

    def twice(self, first, rest):
        """W⁻² times a part, but for its first number."""
        along = self.v0 * first - _dots(self.v1, rest)
        return self.omega[:, None] * (rest - (2 * along)[:, None] * self.v1)

    def divided(self, first, rest):
        """The y with λ∘y = (first, rest)."""
        l0, l1 = self.scaled
        along = (l0 * first - _dots(l1, rest)) / _determinant(l0, l1)
        return along, (rest - along[:, None] * l1) / l0[:, None]

    def longest(self, dk, dh) -> float:
        """Largest step that keeps all parts in the cone."""
        return min(_to_boundary(self.k, dk), _to_boundary(self.h, dh))


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)


def _determinant(first: np.ndarray, rest: np.ndarray) -> np.ndarray:
    size = np.sqrt(_dots(rest, rest))
    return np.maximum((first - size) * (first + size), TINY)


def _to_boundary(part, move) -> float:
    """Largest t with part + t·move in the cones; 1 ÷ the largest rate of approach."""
    (k0, k1), (d0, d1) = part, move
    root = np.sqrt(_determinant(k0, k1))
    along = (k0 * d0 - _dots(k1, d1)) / root  # in the frame where part is (root, 0)
    turned = (along + d0) / (k0 / root + 1)
    across = d1 - (turned / root)[:, None] * k1
    rate = (np.sqrt(_dots(across, across)) - along) / root
    fastest = float(rate.max(initial=0.0))
    return 1 / fastest if fastest > 0 else np.inf


class Cones(MeasuredEngine):
    """The method that does not mind kinks."""

    def __init__(self, problem, start=None, model=None):
        super().__init__(problem, start, model)
        t, image = self.kept
        h0 = self.alpha * self.radii
        h1 = image * (-(1 - LITTLE) * h0 / t)[:, None]
        self.cones = _Cones((t, image), (h0, h1))
        self.parts = (h0 * t + _dots(h1, image)) / self.mu  # of a cone in all products
        self._turn()

    def _begin(self):
        noise, noisy, w = self.problem.noise.ellipsoids, self.problem.radii > 0, self.w
        self.radii = np.where(noisy, self.problem.radii, 1.0)
        self.factors = noise.factors(noisy)
        image = self.factors.images(w)
        least = SETTINGS.start_inside * np.linalg.norm(w) * noise.lipschitz(self.d)
        sizes = np.maximum(np.sqrt(_dots(image, image)), least)
        t = (1 + LITTLE) * np.maximum(sizes, SETTINGS.least_distance)
        self.kept = t, image
        self.slack = 1.0 - self.Z @ self.x + self.radii * t

    def _turn(self) -> None:
        """Σα_i(z_i − δ_i), the slacks and the gap."""
        (t, image), (_, h1) = self.cones.k, self.cones.h
        distance = 1.0 - self.Z @ self.x
        self.slack = distance + self.radii * t
        self.combined = self.Z.T @ self.alpha + self.folded
        self.combined[: self.d] += self.factors.lifted(h1).sum(axis=0)
        noise = self.problem.radii * np.sqrt(_dots(image, image))
        self._measure(distance + noise, noise, -float(np.vdot(h1, image)))

    def _step(self) -> bool:
        cones, radii, d = self.cones, self.radii, self.d
        cones.scale()
        ratio = self.force / self.room
        share = 1.0 / (ratio[0] + ratio[1])  # θ/c
        theta, omega, q = self.c * share, cones.omega, cones.q
        total = omega * q + radii * radii * theta
        p = self.factors.lifted(cones.v1)
        rows = np.array(self.Z)
        rows[:, :d] -= (2 * radii * cones.v0 / q)[:, None] * p
        rows *= np.sqrt(theta * omega * q / total)[:, None]
        p *= np.sqrt(2 * omega / q)[:, None]
        factor = self._matrix(rows, self.factors.gram(omega) - p.T @ p)
        if factor is None:
            return False
        known = factor, share, ratio, theta, total
        ahead = self._direction(known, (-cones.h[0], -cones.h[1]))
        length = min(self._longest(ahead), 1.0)
        target = self._centred(ahead.room, ahead.force, length)
        aims = target - ahead.room * ahead.force
        move = self._direction(known, self._corrected(target, ahead), aims)
        length = min(1.0, SETTINGS.to_boundary * self._longest(move))
        if not self._possible(length, move.x):
            return False
        self._advance(length, move)
        return bool(np.isfinite(self.gap))

    def _corrected(self, target: float, ahead: _Move):
        """W⁻¹y for λ∘y = target − λ∘λ − (W⁻¹dk)∘(Wdh), the predictor's."""
        cones = self.cones
        a, b = cones.by(ahead.k, -1), cones.by(ahead.h, 1)
        l0, l1 = cones.scaled
        first = target * self.parts - l0 * l0 - _dots(l1, l1)
        first -= a[0] * b[0] + _dots(a[1], b[1])
        rest = -2 * l0[:, None] * l1 - a[0][:, None] * b[1] - b[0][:, None] * a[1]
        return cones.by(cones.divided(first, rest), -1)

    def _direction(self, known, aim, aims=None) -> _Move:
        """Newton direction for room·force → aims (0 if None) and dh = aim − W⁻²dk."""
        factor, share, ratio, theta, total = known
        cones, radii, residual = self.cones, self.radii, self.slack
        if aims is not None:
            aims = aims / self.room
            residual = residual - aims[0] + aims[1]
        r0, r1 = aim
        tau = (r0 - radii * theta * residual) / total
        lead = 2 * cones.omega * cones.v0  # dt = τ + ⟨ρθz + lead·p, dx⟩/D
        right = self.combined - self.penalty * self.x
        right += self.Z.T @ (theta * (residual + radii * tau))
        settled = r1 + (lead * tau)[:, None] * cones.v1
        right[: self.d] += self.factors.lifted(settled).sum(axis=0)
        dx = lapack.dpotrs(factor, right, lower=1)[0]
        along, image = self.Z @ dx, self.factors.images(dx[: self.d])
        dt = tau + (radii * theta * along + lead * _dots(cones.v1, image)) / total
        da = share * (residual - along + radii * dt)
        d_room, d_force = self._hinge_moves(da, ratio, aims)
        # h_0 stays αρ to the last digit.
        dh = radii * self.c * da, r1 - cones.twice(dt, image)
        return _Move(dx, d_room, d_force, (dt, image), dh)

    def _longest(self, move: _Move) -> float:
        hinges = self._hinge_room(move.room, move.force)
        return min(hinges, self.cones.longest(move.k, move.h))

    def _advance(self, t: float, move: _Move) -> None:
        before, cones = self.true_slack, self.cones
        self.x = self.x + t * move.x
        self.room = np.maximum(self.room + t * move.room, TINY)
        self.force = self.force + t * move.force
        cones.k = cones.k[0] + t * move.k[0], self.factors.images(self.w)
        cones.h = self.alpha * self.radii, cones.h[1] + t * move.h[1]
        self._turn()
        self.moved = np.abs(self.true_slack - before)


@dataclass(frozen=True)
class _Move:
    """A direction: of x, rooms, forces, cones and their multipliers."""

    x: np.ndarray
    room: np.ndarray
    force: np.ndarray
    k: tuple[np.ndarray, np.ndarray]
    h: tuple[np.ndarray, np.ndarray]
