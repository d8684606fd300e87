"""Newton's method on a smoothed hinge: few Gram matrices, none of them of all rows.

    min P_h(w,b) = ½‖w‖² + ½λ_b b² + Σ c_i φ_h(u_i),
    u_i = m_i − ⟨w,z_i⟩ − y_i b + ρ_iΩ(w),
    φ_h(u) = max_{0≤a≤1} au − ½h(a−½)² + h/8,   which is [u]_+ where |u| ≥ h/2

The maximiser a = clip(u/h + ½, 0, 1) makes α_i = c_i a_i a dual point of the problem
itself, at no cost. Its gap is complementarity, Σc_i([u_i]_+ − a_iu_i), at most h/16 for
each unit of c_i inside the band |u| < h/2, and how far w is off w(α), which is nothing
at the minimum of P_h. So the tolerance determines how small h must be: h falls from
minimum to minimum, each of which is the start to the next.

Only rows inside the band curve P_h, and they are soon few:

    P_h'' = Q + sΩ''(w) + h⁻¹ Σ_{|u_i|<h/2} c_i e_i e_iᵀ,   e_i = (z_i − ρ_iΩ'(w), y_i),
    s = Σα_iρ_i

While they are many, that matrix of a sample of them preconditions conjugate gradients
with all of them. Along each step P_h is minimised exactly: one product gives the slacks
all along it.

P is near its minimum after two or three steps, while the α of that w is far off: rows
cross the bounds of the band, and D loses ½‖w − w(α)‖². The linear model of a step
(δw, δb), which crosses no bound,

    α_i + δα_i,   δα_i = −c_i h⁻¹⟨(δw, δb), e_i⟩  where |u_i| < h/2, and 0 elsewhere,

has w(α + δα) = w + δw but for the residual of the step and for what its bounds cut off.
So it is the dual point once a step promises to lower P_h by less than complementarity;
that step is solved with a residual short enough for the tolerance.

Once the rows near the margin are as few as a working set holds, `driver.py` continues
with them.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem import Pair, Problem
from wideberth.problem.arrays import is_foreign
from wideberth.problem.limits import LITTLE, MOST_STEPS
from wideberth.solvers.algebra import ExtendedRows, Factor, conjugate_gradients
from wideberth.solvers.base import Control
from wideberth.solvers.cost import Cost
from wideberth.solvers.driver import solve_in_memory
from wideberth.solvers.shrinking import least_rows

#: Width of the first band: twice the least one that holds all rows at w = 0, whose
#: slacks are 1.
_FIRST_WIDTH = 4.0
#: Most by which the width falls from one minimum to the next (flat from 2.5 to 8).
_FALL = 4.0
#: Products with a row that conjugate gradients take: five or six steps of two each.
_SOLUTION = 12


def is_smooth(problem: Problem) -> bool:
    """Whether P_h has two derivatives, and its rows are at hand."""
    noise = problem.noise
    return noise.proportional and noise.smooth and not is_foreign(problem.y)


def solve_smoothed(problem: Problem, control: Control) -> Pair:
    """Solve a problem, on the rows near the margin once they are few."""
    search = Smoothed(problem, control)
    found = search.run()
    if found is not None:
        return found
    if search.astray:
        return solve_in_memory(problem, control)
    near = np.abs(search.point.slack) <= 2 * search.width
    return solve_in_memory(problem, control, search.point, 0.0, near)


class Smoothed(ExtendedRows):
    """The search: steps in (w, b), the rows' e_i applied to x = (w, Ω(w), b)."""

    astray = False  # whether a step found no way down
    #: A Gram matrix of a sample of a band; the width of the band and its rows.
    sampled: tuple[np.ndarray, float, int] | None = None

    def __init__(self, problem: Problem, control: Control):
        super().__init__(problem)
        self.control, self.width = control, _FIRST_WIDTH
        self.cost = Cost(problem)
        d, n = problem.rows.d, problem.n
        #: Places of (w, b) in x.
        self.places = np.delete(np.arange(self.penalty.size), [d] if self.noisy else [])
        self.point = problem.at(np.zeros(d), 0.0, np.zeros(n))
        self._weigh()
        self._differentiate()

    def run(self) -> Pair | None:
        """Step until the gap meets the tolerance; None where `driver.py` is to go on.

        From `point` on or, where the search went astray, from nothing.
        """
        for _ in range(MOST_STEPS):
            self.control.steps += 1
            decrease = self._step()
            if decrease is None:
                self.astray = True
                return None
            found = None
            if decrease <= self.complementarity:
                found = self._found(self.predicted)
            if found is not None:
                return found
            self._weigh()
            if decrease <= self.complementarity or self.width == _FIRST_WIDTH:
                if self._few_are_near():
                    return None
                if self._narrow() and self._few_are_near():
                    return None
            self._differentiate()
            found = self._found(self.alpha, self.combined, self.control.exhausted())
            if found is not None:
                return found
        return None

    def _few_are_near(self) -> bool:
        """Whether a working set of the rows near the margin is small.

        It has no more rows than determine w roughly, or its Gram matrix takes no longer
        than one product with all rows.
        """
        near = np.count_nonzero(np.abs(self.point.slack) <= 2 * self.width)
        cheap = self.cost.rows_for(self.cost.product)
        return int(near) <= max(least_rows(self.problem), cheap)

    def _narrow(self) -> bool:
        """Lower h where complementarity takes up more than half of the tolerance.

        It is about proportional to h²; its goal is a quarter of the tolerance. Returns
        whether h has to fall further for that.
        """
        whole = self.control.target * self.point.scale
        if 2 * self.complementarity <= whole:
            return False
        last = self.width * (0.25 * whole / self.complementarity) ** 0.5
        self.width = max(self.width / _FALL, last)
        self._weigh()
        return self.width > last

    def _found(self, alpha: np.ndarray, combined=None, over=False) -> Pair | None:
        """The points found, if they meet the tolerance or all is `over`.

        Complementarity alone rules out most points, at no cost.
        """
        problem, control, point = self.problem, self.control, self.point
        least, most = point.hinge - float(alpha @ point.slack), control.target
        if not over and not least <= most * point.value:
            return None
        dual = problem.dual_at(alpha, combined)
        if not over and not Pair(point, dual).meets(most):
            return None
        # Margins afresh: those carried along have the rounding of all steps in them.
        found = Pair(problem.at(point.w, point.b), dual)
        control.record_pair(problem, found)
        return found if over or found.meets(most) else None

    # -- derivatives ---------------------------------------------------------------

    def _weigh(self) -> None:
        """α and complementarity at the current point and width."""
        self.share = self._shares(self.point.slack)
        self.alpha = self.c * self.share
        hinge = self.point.hinge
        self.complementarity = hinge - float(self.alpha @ self.point.slack)

    def _differentiate(self) -> None:
        """The gradient there, by one product."""
        problem, point = self.problem, self.point
        shape = problem.noise.shape
        self.omega, self.normal = shape.support(point.w), shape.maximizer(point.w)
        self.combined = problem.rows.combine(self.alpha)
        lifted = np.concatenate((self.combined, self.alpha @ self.extras))
        self.total = lifted + self.folded  # (d, −s, Σα_i y_i)
        x = self._image(point.w, point.b)
        self.gradient = self._pulled_back(self.penalty * x - self.total)

    def _shares(self, slack: np.ndarray) -> np.ndarray:
        """a, the derivative of φ_h."""
        share = 0.5 + slack / self.width
        return np.clip(share, 0.0, 1.0)

    def _model(self, step: np.ndarray, margins: np.ndarray) -> np.ndarray:
        """α after a step as its linear model has it, within bounds."""
        change = self._pushed(step, self.normal)[self.problem.rows.d :]
        inside = (self.share > 0) & (self.share < 1)
        move = np.where(inside, margins + self.extras @ change, 0.0)
        return self.c * np.clip(self.share - move / self.width, 0.0, 1.0)

    def _image(self, w: np.ndarray, b: float) -> np.ndarray:
        """x = (w, Ω(w), b), as far as there are noise and an intercept."""
        omega = [self.problem.noise.shape.support(w)] if self.noisy else []
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
        if not self.noisy or self.omega <= 0:
            return 0.0, 0.0
        s = -float(self.total[self.problem.rows.d])
        return s / self.omega, self.problem.noise.shape.squares

    # -- one step --------------------------------------------------------------------

    def _step(self) -> float | None:
        """Newton's step to the minimum along it; returns the decrease it promised.

        None where there is no way down.
        """
        if self.noisy and self.omega <= 0:  # a kink: the steepest descent
            step = self._steepest()
            return np.inf if step.any() and self._move(step) else None
        inside = np.flatnonzero((self.share > 0) & (self.share < 1))
        gram, exact = self._band_gram(inside)
        factor = self._factor(gram)
        if factor is None:
            return None
        step = factor.solve(-self.gradient) if exact else self._solve(inside, factor)
        slope = float(self.gradient @ step)
        if not slope < 0 or not self._move(step):
            return None
        return -0.5 * slope

    def _steepest(self) -> np.ndarray:
        """The steepest descent from w = 0: w(α), and b as it is."""
        d, step = self.problem.rows.d, np.zeros(self.places.size)
        step[:d] = self.problem.noise.shape.prox(self.total[:d], -float(self.total[d]))
        return step

    def _band_gram(self, inside: np.ndarray) -> tuple[np.ndarray, bool]:
        """The Gram matrix of the band, and whether it is one of all rows `inside`.

        One of a sample serves again at the same width, while the band has at least half
        and at most twice as many rows.
        """
        if self.sampled is not None:
            gram, width, size = self.sampled
            sizes = size, inside.size
            if width == self.width and max(sizes) <= 2 * min(sizes):
                return gram, False
        chosen, weights = self._sample(inside)
        gram, exact = self._gram(chosen, weights), chosen is inside
        self.sampled = None if exact else (gram, self.width, inside.size)
        return gram, exact

    def _sample(self, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows for a preconditioner, and their weights; all where that is quicker.

        As many as determine w roughly, or more where their Gram matrix still takes
        no longer than one product with the band. Half of the chance goes by c_i‖z_i‖²:
        rows of large norm decide directions that few others touch.
        """
        rows, weights, cost = self.problem.rows, self.c[inside], self.cost
        product = cost.product * inside.size / self.problem.n  # with the band
        size = max(least_rows(self.problem), cost.rows_for(product))
        if cost.gram(inside.size - size) <= _SOLUTION * product:
            return inside, weights
        pull = weights * rows.norms()[inside] ** 2
        chance = 0.5 * size * (1 / inside.size + pull / pull.sum())
        drawn = self.control.rng.random(inside.size) < chance
        return inside[drawn], weights[drawn] / np.minimum(chance[drawn], 1.0)

    def _gram(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """What these rows inside the band add to P_h'' in x, under these weights."""
        chosen = self.problem.rows.take(rows)
        return chosen.curvature(weights / self.width, self.extras[rows])

    def _factor(self, gram: np.ndarray) -> Factor | None:
        """P_h'' in (w, b), given what rows add to it in x."""
        d = self.problem.rows.d
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
        """P_h''⁻¹ times the descent, by conjugate gradients with a preconditioner.

        Half of the squared residual is part of the gap of the model's α. Where that α
        may meet the tolerance, it is made a tenth of it.
        """
        step, curvature = np.zeros_like(self.gradient), self._curvature_of(inside)
        whole, longest = self.control.target * self.point.scale, np.inf
        decrease = 0.5 * float(self.gradient @ factor.solve(self.gradient))
        if decrease <= self.complementarity <= whole:
            longest = (2 * LITTLE * whole) ** 0.5
        system = curvature, -self.gradient, factor.solve
        for ahead in conjugate_gradients(*system, longest):
            step = ahead
        return step

    def _curvature_of(self, inside: np.ndarray):
        """The product with P_h'', by one read of the rows in the band, or two."""
        rows, extras, d = self.problem.rows, self.extras, self.problem.rows.d
        theta, normal = self.c[inside] / self.width, self.normal
        if 2 * inside.size < self.problem.n:
            rows, extras = rows.take(inside), extras[inside]
        else:
            theta = np.bincount(inside, theta, self.problem.n)
        rate, squares = self._noise_curvature()
        weighed = np.empty_like(theta)

        def curvature(v: np.ndarray) -> np.ndarray:
            x = self._pushed(v, normal)
            beyond = extras @ x[d:]

            def weigh(part: slice, margins: np.ndarray) -> np.ndarray:
                weighed[part] = theta[part] * (margins + beyond[part])
                return weighed[part]

            if rows.cut_for_free:
                combined = rows.combine_along(v[:d], weigh)
            else:
                combined = rows.combine(weigh(slice(None), rows.margins(v[:d])))
            lifted = np.concatenate((combined, weighed @ extras))
            out = self._pulled_back(self.penalty * x + lifted)
            if rate:
                out[:d] += rate * (squares * v[:d] - float(normal @ v[:d]) * normal)
            return out

        return curvature

    def _move(self, step: np.ndarray) -> bool:
        """Go to the minimum along a step; False where there is no way down.

        By Newton's method for the root of the slope, which rises, kept within bounds.
        It ends where the slope is a tenth of the first one, unless that is so far
        beyond the minimum that going back may gain more than was gained.
        """
        problem, point, d = self.problem, self.point, self.problem.rows.d
        dw, db = step[:d], float(step[d]) if step.size > d else 0.0
        margins = problem.rows.margins(dw)

        def along(t: float) -> tuple[float, float, float]:
            """P_h but for a constant, its slope and its curvature."""
            w = point.w + t * dw
            normal = problem.noise.shape.maximizer(w if w.any() else dw)
            x, change = self._image(w, point.b + t * db), self._pushed(step, normal)
            slack = (
                self.problem.targets - point.margins - t * margins - self.extras @ x[d:]
            )
            share, move = self._shares(slack), margins + self.extras @ change[d:]
            loss = share * slack - 0.5 * self.width * (share - 0.5) ** 2
            value = (0.5 * self.penalty * x - self.folded) @ x + self.c @ loss
            first = (self.penalty * x - self.folded) @ change - (self.c * share) @ move
            inside = np.where((share > 0) & (share < 1), self.c, 0.0) @ (move * move)
            second = self.penalty @ change**2 + inside / self.width
            return float(value), float(first), float(second)

        low, high, t, (start, steepest, _) = 0.0, np.inf, 1.0, along(0.0)
        if not steepest < 0:
            return False
        self.predicted = self._model(step, margins)
        for _ in range(MOST_STEPS):
            value, slope, curvature = along(t)
            gained, left = start - value, slope * (t - low)
            if left <= gained and abs(slope) <= LITTLE * -steepest:
                break
            low, high = (low, t) if slope > 0 else (t, high)
            ahead = t - slope / curvature
            middle = 0.5 * (low + high) if high < np.inf else 2 * t
            t = ahead if low < ahead < high else middle
        w, b = point.w + t * dw, point.b + t * db
        self.point = problem.at(w, b, point.margins + t * margins)
        return bool(np.isfinite(self.point.value))
