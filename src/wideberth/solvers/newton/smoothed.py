"""Newton's method on a smoothed hinge: few Gram matrices, none of them of all rows.

    min P_h(w,b) = ½‖w‖² + ½λ_b b² + Σ c_i φ_h(u_i),
    u_i = 1 − ⟨w,z_i⟩ − y_i b + ρ_iΩ(w),
    φ_h(u) = max_{0≤a≤1} au − ½h(a−½)² + h/8,   which is [u]_+ where |u| ≥ h/2

The maximiser a = clip(u/h + ½, 0, 1) makes α_i = c_i a_i a dual point of the problem
itself, at no cost. Its gap is complementarity, Σc_i([u_i]_+ − a_iu_i), at most h/16 for
each unit of c_i inside the band |u| < h/2, and how far w is off w(α), which is nothing
at the minimum of P_h. So a tolerance tells how small h must be, and a loose one soon
is met: h falls from minimum to minimum, each about the start to the next.

Only rows inside the band curve P_h, and they are soon few:

    P_h'' = Q + sΩ''(w) + h⁻¹ Σ_{|u_i|<h/2} c_i e_i e_iᵀ,   e_i = (z_i − ρ_iΩ'(w), y_i),
    s = Σα_iρ_i

While they are many, that matrix of a sample of them preconditions conjugate gradients,
which take a handful of products with all of them. Along each step P_h is minimised
exactly, for one product gives the slacks all along it.

Once the rows near the margin are as few as a working set holds, `rounds.py` goes on
with them. On all rows its method takes a dozen of steps or two to any tolerance, each
with a Gram matrix of all rows.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.arrays import is_foreign
from wideberth.problem.limits import LITTLE, MOST_STEPS
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.newton.algebra import Factor, conjugate_gradients
from wideberth.solvers.newton.extended_rows import ExtendedRows
from wideberth.solvers.newton.rounds import Rounds, least_rows

#: Width of the first band: the least one that holds all rows at w = 0, whose slacks
#: are 1, is 2; twice that leaves room for the first step.
_FIRST_WIDTH = 4.0
#: Most by which the width falls from one minimum to the next (flat from 2.5 to 8).
_FALL = 4.0
#: Share of the tolerance that complementarity is to take up; the rest is for w (flat
#: from 0.4 to 0.8).
_SHARE = 0.4
#: Products with a row that conjugate gradients take: five or six steps of two each.
_SOLUTION = 12


def is_smooth(problem: Problem) -> bool:
    """Whether P_h has two derivatives, and its rows are at hand."""
    return problem.shared and problem.noise.smooth and not is_foreign(problem.y)


def solve_smoothed(problem: Problem, control: Control) -> Outcome:
    """Solve a problem, on the rows near the margin once they are few."""
    search = Smoothed(problem, control)
    found = search.run()
    if found is not None:
        return found
    if search.astray:
        return Rounds(problem, control).solve()
    band = np.full(problem.n, 2 * search.width)
    return _Near(problem, control).solve(search.point, band)


class _Near(Rounds):
    """Rounds that keep their working sets, whose rows are few already."""

    def _leave_behind(self, work, engine):
        return work, engine


class Smoothed(ExtendedRows):
    """The search: steps in (w, b), the rows' e_i applied to x = (w, Ω(w), b)."""

    astray = False

    def __init__(self, problem: Problem, control: Control):
        self.adopt(problem)
        self.control, self.width = control, _FIRST_WIDTH
        d, n = problem.rows.d, problem.n
        #: Places of (w, b) in x.
        self.places = np.delete(np.arange(self.penalty.size), [d] if self.noisy else [])
        self.point = problem.at(np.zeros(d), 0.0, np.zeros(n))
        self._differentiate()

    def run(self) -> Outcome | None:
        """Step until the gap meets the tolerance; None where `rounds.py` is to go on.

        From `point` on or, where the search went astray, from nothing.
        """
        for _ in range(MOST_STEPS):
            self.control.steps += 1
            decrease = self._step()
            if decrease is None:
                self.astray = True
                return None
            self._differentiate()
            found = self._found()
            if found is not None:
                return found
            if decrease <= self.complementarity or self.width == _FIRST_WIDTH:
                if self._few_are_near():
                    return None
                self._narrow()
        return None

    def _few_are_near(self) -> bool:
        """Whether a working set of the rows near the margin is small.

        It has as few rows as tell something about w, or its Gram matrix takes no longer
        than one product with all rows.
        """
        near = np.count_nonzero(np.abs(self.point.slack) <= 2 * self.width)
        cheap = self.problem.n / self.problem.rows.gram_passes()
        return int(near) <= max(least_rows(self.problem), cheap)

    def _narrow(self) -> None:
        """Lower h; complementarity is about proportional to h², as far as it must."""
        aim = _SHARE * self.control.target * self.point.value
        if self.complementarity > aim:
            enough = self.width * (aim / self.complementarity) ** 0.5
            self.width = max(self.width / _FALL, enough)
            self._differentiate()

    def _found(self) -> Outcome | None:
        """The points found, if they meet the tolerance or nothing more may be done."""
        problem, control = self.problem, self.control
        over = control.exhausted()
        if not over and self.complementarity > control.target * self.point.value:
            return None
        dual = problem.dual_at(self.alpha, self.combined)
        if not over and not Outcome(self.point, dual).meets(control.target):
            return None
        # Margins afresh: those carried along have the rounding of all steps in them.
        found = Outcome(problem.at(self.point.w, self.point.b), dual)
        counts = problem.n, 0, 0
        control.record(problem.rows.passes.count, found.certificate, counts)
        return found if over or found.meets(control.target) else None

    # -- derivatives ---------------------------------------------------------------

    def _differentiate(self) -> None:
        """α, the gradient and complementarity at the current point and width."""
        problem, point = self.problem, self.point
        self.normal = problem.noise.maximizer(point.w)  # Ω'(w)
        self.share = self._shares(point.slack)
        self.alpha = self.c * self.share
        self.combined = problem.rows.combine(self.alpha)
        lifted = np.concatenate((self.combined, self.alpha @ self.extras))
        self.total = lifted + self.folded  # (d, −s, Σα_i y_i)
        x = self._image(point.w, point.b)
        self.gradient = self._pulled_back(self.penalty * x - self.total)
        self.complementarity = point.hinge - float(self.alpha @ point.slack)

    def _shares(self, slack: np.ndarray) -> np.ndarray:
        """a, the derivative of φ_h."""
        return np.clip(slack / self.width + 0.5, 0.0, 1.0)

    def _image(self, w: np.ndarray, b: float) -> np.ndarray:
        """x = (w, Ω(w), b), as far as there are noise and an intercept."""
        omega = [self.problem.noise.support(w)] if self.noisy else []
        return np.concatenate((w, omega, [] if self.problem.intercept is None else [b]))

    def _pushed(self, step: np.ndarray, normal) -> np.ndarray:
        """The change of x with a step in (w, b), where Ω has the gradient `normal`."""
        d = self.problem.rows.d
        slope = [float(normal @ step[:d])] if self.noisy else []
        return np.concatenate((step[:d], slope, step[d:]))

    def _pulled_back(self, gradient: np.ndarray) -> np.ndarray:
        """The gradient in (w, b) of what has this one in x."""
        out, d = gradient[self.places], self.problem.rows.d
        if self.noisy:
            out[:d] += gradient[d] * self.normal
        return out

    def _noise_curvature(self) -> tuple[float, np.ndarray | float]:
        """Of sΩ'' = r(diag(τ²) − Ω'Ω'ᵀ): r, and τ²."""
        omega = self.point.omega
        if not self.noisy or omega <= 0:
            return 0.0, 0.0
        s = -float(self.total[self.problem.rows.d])
        return s / omega, self.problem.noise.squares

    # -- one step --------------------------------------------------------------------

    def _step(self) -> float | None:
        """Newton's step to the minimum along it; returns the decrease it promised.

        None where there is no way down.
        """
        if self.noisy and self.point.omega <= 0:  # a kink: the steepest descent
            step = self._steepest()
            return np.inf if step.any() and self._move(step) else None
        inside = np.flatnonzero((self.share > 0) & (self.share < 1))
        chosen, weights = self._sampled(inside)
        factor = self._factor(chosen, weights)
        if factor is None:
            return None
        if chosen is inside:
            step = factor.solve(-self.gradient)
        else:
            step = self._solve(inside, factor)
        slope = float(self.gradient @ step)
        if not slope < 0 or not self._move(step):
            return None
        return -0.5 * slope

    def _steepest(self) -> np.ndarray:
        """The steepest descent from w = 0: w(α), and b as it is."""
        d, step = self.problem.rows.d, np.zeros(self.places.size)
        step[:d] = self.problem.noise.prox(self.total[:d], -float(self.total[d]))
        return step

    def _sampled(self, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows for a preconditioner, and their weights; all where that is quicker.

        Half of the chance goes by c_i‖z_i‖²: rows of large norm decide directions that
        few others touch.
        """
        rows, weights, least = (
            self.problem.rows,
            self.c[inside],
            least_rows(self.problem),
        )
        spared = (inside.size - least) * rows.gram_passes()
        if spared <= _SOLUTION * inside.size:
            return inside, weights
        pull = weights * rows.norms()[inside] ** 2
        chance = 0.5 * least * (1 / inside.size + pull / pull.sum())
        drawn = self.control.rng.random(inside.size) < chance
        return inside[drawn], weights[drawn] / np.minimum(chance[drawn], 1.0)

    def _factor(self, rows: np.ndarray, weights: np.ndarray) -> Factor | None:
        """P_h'' with these rows inside the band, under these weights."""
        theta, d = weights / self.width, self.problem.rows.d
        gram = self.problem.rows.take(rows).curvature(theta, self.extras[rows])
        matrix = np.ascontiguousarray(gram[np.ix_(self.places, self.places)])
        if self.noisy:
            across = np.multiply.outer(gram[self.places, d], self.normal)
            matrix[:, :d] += across
            matrix[:d, :] += across.T
            rate, squares = self._noise_curvature()
            square = np.multiply.outer(self.normal, self.normal)
            matrix[:d, :d] += (gram[d, d] - rate) * square
            matrix.reshape(-1)[: d * len(matrix) : len(matrix) + 1] += rate * squares
        matrix.reshape(-1)[:: len(matrix) + 1] += self.penalty[self.places]
        return Factor.of(matrix)

    def _solve(self, inside: np.ndarray, factor: Factor) -> np.ndarray:
        """P_h''⁻¹ times the descent, by conjugate gradients with a preconditioner."""
        step, curvature = np.zeros_like(self.gradient), self._curvature_of(inside)
        for ahead in conjugate_gradients(curvature, -self.gradient, factor.solve):
            step = ahead
        return step

    def _curvature_of(self, inside: np.ndarray):
        """The product with P_h'', by two products with the rows inside the band."""
        rows, extras, d = self.problem.rows, self.extras, self.problem.rows.d
        theta, normal = self.c[inside] / self.width, self.normal
        if 2 * inside.size < self.problem.n:
            rows, extras = rows.take(inside), extras[inside]
        else:
            theta = np.bincount(inside, theta, self.problem.n)
        rate, squares = self._noise_curvature()

        def curvature(v: np.ndarray) -> np.ndarray:
            x = self._pushed(v, normal)
            weighed = theta * (rows.margins(v[:d]) + extras @ x[d:])
            lifted = np.concatenate((rows.combine(weighed), weighed @ extras))
            out = self._pulled_back(self.penalty * x + lifted)
            if rate:
                out[:d] += rate * (squares * v[:d] - float(normal @ v[:d]) * normal)
            return out

        return curvature

    def _move(self, step: np.ndarray) -> bool:
        """Go to the minimum along a step; False where there is no way down.

        Newton's method for a root of the slope, which rises, between bounds for it.
        """
        problem, point, d = self.problem, self.point, self.problem.rows.d
        dw, db = step[:d], float(step[d]) if step.size > d else 0.0
        margins = problem.rows.margins(dw)

        def slopes(t: float) -> tuple[float, float]:
            w = point.w + t * dw
            normal = problem.noise.maximizer(w if w.any() else dw)
            x, change = self._image(w, point.b + t * db), self._pushed(step, normal)
            slack = 1.0 - point.margins - t * margins - self.extras @ x[d:]
            share, move = self._shares(slack), margins + self.extras @ change[d:]
            first = (self.penalty * x - self.folded) @ change - (self.c * share) @ move
            inside = np.where((share > 0) & (share < 1), self.c, 0.0) @ (move * move)
            return float(first), float(self.penalty @ change**2 + inside / self.width)

        low, high, t, steepest = 0.0, np.inf, 1.0, slopes(0.0)[0]
        if not steepest < 0:
            return False
        for _ in range(MOST_STEPS):
            slope, curvature = slopes(t)
            if abs(slope) <= LITTLE * -steepest:
                break
            low, high = (low, t) if slope > 0 else (t, high)
            ahead = t - slope / curvature
            middle = 0.5 * (low + high) if high < np.inf else 2 * t
            t = ahead if low < ahead < high else middle
        w, b = point.w + t * dw, point.b + t * db
        self.point = problem.at(w, b, point.margins + t * margins)
        return bool(np.isfinite(self.point.value))
