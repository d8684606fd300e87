"""The best points of a search over batches, and the null model beside them.

A pass evaluates the primal at one point and hands over what a dual point is found on,
so the lowest primal value and the highest dual one come of different passes. Where no
w ≠ 0 is worth while, w(α) = 0 at the dual optimum, and no pass comes upon w = 0 by
itself: the first pass, which sums up each class, tells its value (theory §2).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wideberth.problem import Certificate, DualPoint, PrimalPoint
from wideberth.problem.endpoints import null_certificate
from wideberth.problem.rows import gamma
from wideberth.screening import null_point
from wideberth.solvers.base import Control
from wideberth.solvers.tall.proofs import Proof
from wideberth.solvers.tall.work import Work


class Incumbent:
    """The lowest primal point so far, and the highest dual one as a proof."""

    def __init__(self, control: Control):
        self.control = control
        self.point: PrimalPoint = None  # type: ignore[assignment]  # until a pass
        self.proof: Proof | None = None
        self._null: PrimalPoint | None = None  # w = 0 and the best b

    @property
    def certificate(self) -> Certificate:
        """The best primal and the best dual value; α = 0 has the value 0."""
        point = self.point
        if self.proof is None:
            return Certificate(point.value, 0.0, point.rounding)
        return Certificate.of(point, self.proof.dual)

    def is_good(self, point: PrimalPoint) -> bool:
        """Whether a point and the best dual one meet the tolerance."""
        if self.proof is None:
            return False
        found = Certificate.of(point, self.proof.dual)
        return found.meets(self.control.target)

    def rises(self, dual: DualPoint) -> bool:
        """Whether a dual point is better than the best one, α = 0 at first."""
        best = 0.0 if self.proof is None else self.proof.dual.value
        return dual.value > best

    def keep(self, point: PrimalPoint) -> None:
        """Take in a point, which is kept if it is the best and w = 0 is not proven."""
        if self.point is None or point.value < self.point.value:
            self.point = point
        if self._null is not None and self._null_is_optimal(self._null):
            self.point = self._null

    def is_null(self, first: Work) -> bool:
        """Take the null model, if the closed form proves it (see `endpoints`)."""
        first.check_classes()
        problem, none = first.classes_as_rows(), np.empty(0)
        point = null_point(problem)
        assert problem.folded is not None
        error = gamma(problem.folded.chain + 16) * point.value  # no term is negative
        null = replace(point, margins=none, slack=none, rounding=error)
        self._null = null
        alpha = null_certificate(problem)
        if alpha is None:
            return False
        if not alpha.any():  # nothing is summed
            problem = replace(problem, folded=None)
        share = alpha / np.where(problem.weights > 0, problem.weights, 1.0)
        rule, dual = replace(null, b=0.0), problem.dual_at(alpha)
        upper, lower = np.broadcast_to(share, 2).tolist()
        if not Certificate.of(null, dual).meets(self.control.tol):
            return False
        self.point, self.proof = null, Proof(dual, rule, by_class=(upper, lower))
        return True

    def _null_is_optimal(self, null: PrimalPoint) -> bool:
        """Whether the dual point has w(α) = 0 and proves the null model (theory §2)."""
        if self.proof is None or self.proof.dual.w.any():
            return False
        return Certificate.of(null, self.proof.dual).meets(self.control.tol)
