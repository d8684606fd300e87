"""The one loop: fix rows, solve the others, verify, take back (theory §6.1).

1. *Fix.* Rows far from the margin are taken to have α_i = 0 above it and α_i = c_i
   below it. A pass over the batches folds the latter into one linear and one norm term
   (theory §3), and hands over the rows that are left, the working set.
2. *Solve* the working set in memory, by the interior-point method (`shrinking.py`).
3. *Verify.* The dual point is feasible for the whole problem and its value exact, so
   the pass that evaluates the primal at the new point proves the gap of the whole
   problem, whatever was assumed.
4. *Take back.* That pass shows which rows crossed the margin since they were fixed.
   They belong to every working set from now on, and it hands over the next one.

A first working set comes from a start and a band about the margin there, as along a
path. Without a start the first pass takes a sample; its solution, with weights scaled
up, is off by a sampling error, and the rows that this may carry across the margin are
the working set (`sampling.py`). Few rows are all taken at once.

Rows in memory are one batch, whose points keep their margins; files and clusters have
several (`batches.py`), and a working set of theirs is solved by the loop in memory.
Where more rows are near the margin than fit in memory, a sample of them is solved, or
all rows take part in groups (`problem/merge.py`). Where many rows are tied at the
margin no working set is small: the central path of a sample is carried over to all rows
(`shrinking.py`).

`Rounds` is the loop itself, with the best points and the rule that ends it. `Driver`
restricts the problem to some of its rows, `columns.py` to some of its columns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np

from wideberth.noise.sums import SumOfEllipsoids
from wideberth.problem import Certificate, DualPoint, Pair, PrimalPoint, Problem
from wideberth.problem.arrays import (
    Array,
    concat,
    host,
    is_foreign,
    masked,
    namespace,
)
from wideberth.problem.endpoints import Face
from wideberth.problem.limits import LITTLE, MOST_STEPS, TINY
from wideberth.problem.merge import Grouping, merge_equal_rows
from wideberth.solvers.attempts import (
    affordable,
    null_if_optimal,
    null_pair,
    on_host,
    prove,
    sparse,
)
from wideberth.solvers.base import Control
from wideberth.solvers.batches import (
    Batches,
    Decide,
    FirstPass,
    Gather,
    InMemory,
    Proof,
    decide_rows,
)
from wideberth.solvers.sampling import (
    SamplingError,
    first_size,
    is_sampled,
    sample_goal,
)
from wideberth.solvers.shrinking import (
    Shrinking,
    dual_with_others,
    least_rows,
    nearest_width,
    solve_alone,
    solve_groups,
    solve_where_tied,
)
from wideberth.solvers.work import Work

#: Number of crossed rows, per row of the working set, beyond which a round tells only
#: that it had too few rows; the next one has this many times as many (a choice for
#: starts that are far off; the benchmark has none and counts the same from 2 to 1000).
GROWTH = 8
#: Number of rounds without progress after which rounding is taken to forbid more (a
#: choice for the end of float64; the benchmark counts the same from 0 to 30).
PATIENCE = 8

#: What a round solves: a restriction of the problem.
Part = TypeVar("Part")


class Rounds(ABC, Generic[Part]):
    """Rounds on restrictions of a problem, each verified on the whole of it.

    `point` is the lowest primal point so far and `proof` the highest dual one. The next
    restriction is solved to the relative gap `goal`.
    """

    def __init__(self, control: Control):
        self.control = control
        self.point: PrimalPoint = None  # type: ignore[assignment]  # until a pass
        self.proof: Proof | None = None
        self.goal = 0.5 * control.target
        self._smallest, self._idle = np.inf, 0  # gap, and rounds that did not lower it

    @property
    def certificate(self) -> Certificate:
        """The best primal and the best dual value; α = 0 has the value 0."""
        point = self.point
        if self.proof is None:
            return Certificate(point.value, 0.0, point.rounding, point.scale)
        return Certificate.of(point, self.proof.dual)

    def rounds(self, part: Part | None) -> None:
        """Solve, verify and take the next part, until there is none."""
        while part is not None:
            found = self.solve_part(part)
            part = None if found is None else self.verify(part, found)

    @abstractmethod
    def solve_part(self, part: Part) -> Pair | None:
        """Solve a restriction; None where that ends the run."""

    @abstractmethod
    def verify(self, part: Part, found: Pair) -> Part | None:
        """Evaluate on the whole problem; what to solve next, None at the end."""

    def keep_point(self, point: PrimalPoint) -> None:
        """Keep a primal point if it is the best."""
        if self.point is None or point.value < self.point.value:
            self.point = point

    def improves(self, dual: DualPoint) -> bool:
        """Whether a dual point is the best so far; the first is α = 0."""
        return dual.value > (0.0 if self.proof is None else self.proof.dual.value)

    def finished(self) -> bool:
        """Whether the best points will do, or nothing better comes."""
        certificate, control = self.certificate, self.control
        if certificate.meets(control.target) or control.exhausted():
            return True
        better = certificate.gap < (1 - LITTLE**2) * self._smallest
        self._idle = 0 if better else self._idle + 1
        self._smallest = min(self._smallest, certificate.gap)
        return self._idle > (0 if certificate.meets(control.tol) else PATIENCE)


def solve_in_memory(
    problem: Problem,
    control: Control,
    start: PrimalPoint | None = None,
    band: float | SamplingError = math.inf,
    pinned: np.ndarray | None = None,
) -> Pair:
    """Solve a problem in memory; see `Driver.solve`."""
    return Driver(InMemory(problem), control).solve(start, band, pinned)


class Driver(Rounds[Work]):
    """Rounds on working sets of rows, which passes over the batches hand over.

    In the next working set are the rows within `widening` times the `band` of the
    margin, and those `pinned`, by batch; `sizes` are those of the working sets so far.
    """

    def __init__(self, batches: Batches, control: Control):
        super().__init__(control)
        self.batches = batches
        self.tied: Pair | None = None  # the solution, where most rows are tied
        self.band: float | SamplingError = math.inf
        self.pinned: dict[int, Array] = {}
        self.widening = 1.0
        self.passes, self.n = 0, batches.n or 0
        self.sizes: list[int] = []
        self.grouping: Grouping | None = None  # once rows near the margin do not fit
        self._expected = np.inf  # rows near the margin, when a sample of them was taken
        self._cramped = False  # rows near the margin do not fit, and form no groups
        self._came_back = False  # rows left the last working set, and had to return
        self._about: np.ndarray | None = None  # see `Gather.about`
        self._majorised = False  # a model of the noise has raised the objective

    @property
    def crowded(self) -> bool:
        """Whether too many rows are near the margin for the memory allowed."""
        return self._cramped or self.grouping is not None

    def solve(
        self,
        start: PrimalPoint | None = None,
        band: float | SamplingError = math.inf,
        pinned: np.ndarray | None = None,
    ) -> Pair:
        """Run on rows in memory: the best pair of points.

        From a point, whose working set has the rows within the `band` and those of the
        mask `pinned`; or from nothing.
        """
        assert isinstance(self.batches, InMemory)
        work = None
        if start is not None:
            self.point, self.band = start, band
            if pinned is not None:
                self.pinned = {0: np.flatnonzero(pinned)}
            work = self._ask(self._question(start.w, start.b, known=start))
        self.run(work)
        if self.tied is not None:
            return self.tied
        if self.proof is None:
            problem = self.batches.problem
            return Pair(self.point, problem.dual_at(np.zeros(problem.n)))
        return Pair(self.point, self.proof.dual)

    def run(self, begun: Work | None = None) -> None:
        """Rounds until the gap of the whole problem meets the tolerance.

        They go on from the first pass, where that was made.
        """
        work = begun or self.begin()
        self._note(work.point, None if self.batches.in_memory else work)
        self.rounds(work)

    def verify(self, part, found):
        """By a pass, which hands over the next working set, too.

        Where data `stays`, the objective is evaluated first, and may end the run; not
        before there is a dual point to prove it.
        """
        question = self._next(part, found)
        if not self._evaluates_first:
            work = self._gather(question, part)
            if self._ends(part):
                return None
            self._narrow(part, found, work.point)
            return work
        known = found.point if self.batches.in_memory and part.exact else None
        latest = self.consider(found.point.w, found.point.b, known, part)
        if self._ends(part):
            return None
        return self._gather(self._at_the_lower(question, part, found, latest), part)

    @property
    def _evaluates_first(self) -> bool:
        """Whether a point is evaluated before a working set is gathered at it.

        In memory that costs no read: its margins serve both.
        """
        batches = self.batches
        return batches.in_memory or (batches.stays and self.proof is not None)

    def _ends(self, solved: Work) -> bool:
        """Whether the run is over, by what was solved last."""
        certificate, control = self.certificate, self.control
        if not solved.exact:  # a sample proves nothing, and is no sign of rounding
            return certificate.meets(control.target) or control.exhausted()
        given_up = not self.batches.in_memory and self.passes > MOST_STEPS
        senseless = certificate.primal < 0  # rows folded before were at another bound
        return self.finished() or given_up or senseless

    # -- solve -------------------------------------------------------------------------

    def solve_part(self, part):
        """Solve a working set and keep its dual point; None where that ends the run."""
        self.sizes.append(part.problem.n)
        if self._last_alpha_suffices(part):
            return None
        if self.batches.in_memory and part.exact:
            found = self._solve_in_place(part)
        else:
            found = self._solve_apart(part)
            if self._solved_as_tied(part, found):
                return None
        if part.exact:
            self._keep_dual(part, found.dual)
        self._about = self._where_to_model(part, found)
        return found

    def _solve_in_place(self, work: Work) -> Pair:
        """Solve rows in memory by the interior-point method with shrinking."""
        assert isinstance(self.batches, InMemory)
        problem, members, start = work.problem, host(work.members[0]), None
        kept, lowest = np.zeros(self.n, dtype=bool), -np.inf
        if self.pinned:
            kept[host(self.pinned[0])] = True
        if not work.first:
            here = work.point
            start = problem.at(here.w, here.b, here.margins[members])
            if problem.n < self.n:
                lowest = (1 - LITTLE) * here.value
        rows = self.batches.problem, problem, members
        method = Shrinking(*rows, self.control, self.goal, kept[members], lowest)
        found = method.solve(start)
        self._came_back = bool((method.kept & ~kept[members]).any())
        kept[members] |= method.kept
        self.pinned = {0: np.flatnonzero(kept)}
        return found

    def _solve_apart(self, work: Work) -> Pair:
        """Solve the rows handed over as a problem of their own, equal rows merged.

        Equal rows in memory were merged by the presolve; groups are not merged.
        """
        problem, control = work.problem, self.control
        inner, equal = control.rougher(self._goal_of(work)), None
        if not self.batches.in_memory and self.grouping is None:
            equal = merge_equal_rows(problem)
        small = problem if equal is None else equal.problem
        found = self._solution(work, small, inner)
        if small.noise.proportional and (work.exact or not found.meets(LITTLE)):
            found = _solve_again(small, inner, found)
        if work.exact:
            if small.noise.proportional:
                found = null_if_optimal(small, found, inner.tol)
            found = sparse(small, found, inner.tol)
        control.steps = inner.steps
        if equal is None:
            return found
        margins = found.point.margins[equal.label]
        point = problem.at(found.point.w, found.point.b, margins)
        return Pair(point, replace(found.dual, alpha=equal.dealt(found.dual.alpha)))

    def _goal_of(self, work: Work) -> float:
        """The relative gap to which a working set is solved."""
        if not work.exact:
            return sample_goal(work.problem, self.control.target)
        if self.grouping is None:
            return self.goal
        return max(self.goal, LITTLE * min(self.certificate.relative_gap, LITTLE**2))

    def _solution(self, work: Work, problem: Problem, control: Control) -> Pair:
        """Solve the rows of a working set, by what suits them."""
        here = None if work.first else work.point
        if work.grouping is not None:
            return solve_groups(problem, control)
        per_sample = not problem.noise.proportional and not work.first
        if per_sample or is_foreign(problem.y):
            found = solve_alone(problem, control, here, work.model)
            return self._beside_kink(work, found)
        if self.batches.tilt and not problem.noise.proportional:  # a kink: steps creep
            null = null_pair(problem)
            if null is not None and null.meets(control.tol):
                return null
        start = None if here is None else problem.at(here.w, here.b)
        return solve_in_memory(problem, control, start)

    def _beside_kink(self, work: Work, found: Pair) -> Pair:
        """w = 0 where the model of the noise is negative, beyond its kink."""
        model, problem = work.model, work.problem
        if not self.batches.tilt or is_foreign(problem.y) or model is None:
            return found
        if not float(model.gradient @ found.point.w) < 0:
            return found
        nothing, face = problem.at(np.zeros(problem.rows.d)), Face.of(problem)
        alpha = face.whole(face.middle)
        return Pair(nothing, dual_with_others(problem, model, alpha, nothing.w))

    def _solved_as_tied(self, work: Work, found: Pair) -> bool:
        """Follow the central path of a sample on all rows; whether it led to `tied`."""
        if work.exact or not isinstance(self.batches, InMemory):
            return False
        if work.problem.noise.proportional:
            whole, sample = self.batches.problem, work.problem
            self.tied = solve_where_tied(whole, self.control, sample, found)
        return self.tied is not None

    def _where_to_model(self, work: Work, found: Pair) -> np.ndarray | None:
        """Where w = 0, a short w that tells the noise of rows that are folded there."""
        problem, alpha, sets = work.problem, found.dual.alpha, self.batches.sets
        own = self.batches.tilt and sets.smooth and not sets.proportional
        if not own or found.point.w.any():
            return None
        d = problem.rows.combine(alpha)
        d = d if problem.folded is None else d + problem.folded.d
        if work.model is not None:
            w = work.model.turned(d)
        else:
            noise = problem.noise.sum(alpha) + problem.outside
            assert isinstance(noise, SumOfEllipsoids)
            w = noise.towards(d)
        length = math.sqrt(2 * self.control.tol * self.point.scale)
        return w * (length / max(float(np.linalg.norm(w)), TINY))

    # -- the best points ---------------------------------------------------------------

    def consider(
        self,
        w: np.ndarray,
        b: float,
        known: PrimalPoint | None = None,
        solved: Work | None = None,
    ) -> PrimalPoint:
        """Evaluate the objective at a point, which is kept if it is the best.

        `known` is the point, where its margins are known; `solved` is what led to it.
        """
        look = self._question(w, b, known=known, most=0)
        work = self._ask(look)
        self._note(work.point, solved or work)
        return work.point

    def _note(self, point: PrimalPoint, work: Work | None) -> None:
        """Keep a point if it is the best; report it.

        `work` is what was solved for it; None where the point is not to be reported.
        """
        self.keep_point(point)
        if work is None:
            return
        if isinstance(self.batches, InMemory):
            whole, proof = self.batches.problem, self.proof
            dual = whole.dual_at(np.zeros(self.n)) if proof is None else proof.dual
            self.control.record_pair(whole, Pair(self.point, dual))
            return
        rest = max(work.n - work.rows - work.folded_rows, 0)
        counts = work.rows, work.folded_rows, rest
        self.control.record(float(self.passes), self.certificate, counts)

    def _keep_dual(self, work: Work, dual: DualPoint) -> None:
        """Keep a dual point of a working set if it is the best."""
        if isinstance(self.batches, InMemory):  # α of all rows is known
            whole = self.batches.problem
            alpha = work.proof(dual).alpha(0, whole)
            if dual.value == -np.inf:  # rows at the wrong bound leave no balance
                dual = whole.dual_at(alpha, near=dual.w)
            else:
                dual = replace(dual, alpha=alpha)
            if self.improves(dual):
                self.proof = Proof(dual, work.point)
        elif self.improves(dual):
            self.proof = work.proof(dual)

    def _last_alpha_suffices(self, work: Work) -> bool:
        """Evaluate the last α under the noise of this work; whether it proves enough.

        For data in chunks with a set per sample; it costs no step.
        """
        if not work.exact or work.alpha is None:
            return False
        here = work.point
        dual = dual_with_others(work.problem, work.model, work.alpha, here.w)
        self._keep_dual(work, dual)
        return self.certificate.meets(self.control.target)

    # -- passes ------------------------------------------------------------------------

    def begin(self) -> Work:
        """The first pass: a sample, or all rows where they are few."""
        batches, share = self.batches, 1.0
        n, d = batches.n, batches.d
        if isinstance(batches, InMemory):
            if is_sampled(batches.problem):
                share = first_size(batches.problem.n, d) / batches.problem.n
        elif n:
            share = min(1.0, batches.capacity / n, first_size(n, d) / n)
        seed = 0 if share == 1 else self._seed()
        work = self._ask(FirstPass(np.zeros(d), share, seed, batches.in_memory))
        self.n = work.n
        return work

    def _ask(self, question: FirstPass | Gather) -> Work:
        """Ask all batches."""
        self.passes += 1
        work = Work(self.batches, question, self.n)
        for answer in self.batches.ask(question):
            work.add(answer)
        return work

    def _question(self, w: np.ndarray, b: float, **more) -> Gather:
        """Gather at a point what the band and the rows pinned say."""
        batches = self.batches
        if isinstance(batches, InMemory):
            more["least"] = least_rows(batches.problem)
        asked = self.band, self.widening, None, self.pinned or None
        more = {"most": batches.capacity, "in_memory": batches.in_memory, **more}
        return replace(Gather(w, b, *asked), **more)

    def _next(self, solved: Work, found: Pair) -> Gather:
        """What to gather at the solution of a working set."""
        if not solved.exact:
            return self._after_sample(solved, found)
        question = self._question(found.point.w, found.point.b)
        if not solved.first:
            question = replace(question, other=solved.point)
        if self.grouping is not None:
            ratios = None if self.proof is None else self.proof.ratios
            return replace(question, grouping=self.grouping, ratios=ratios)
        if not (self.batches.in_memory or self.batches.sets.proportional):
            self._majorised |= solved.point.value > self.point.value
            question = replace(question, proof=self.proof, about=self._about)
            question = replace(question, majorised=self._majorised)
        if not solved.first:
            most = GROWTH * solved.problem.n
            question = replace(question, most_crossed=most, members=solved.members)
        return question

    def _at_the_lower(
        self, question: Gather, solved: Work, found: Pair, latest: PrimalPoint
    ) -> Gather:
        """Gather at the lower one of the points before and after, both evaluated."""
        self._narrow(solved, found, latest)
        question = replace(question, band=self.band, widening=self.widening)
        point, here = latest, solved.point
        if solved.exact and not solved.first and here.value < latest.value:
            point = here
            question = replace(question, w=here.w, b=here.b, other=latest, members=None)
        return replace(question, known=point if self.batches.in_memory else None)

    def _narrow(self, solved: Work, found: Pair, latest: PrimalPoint) -> None:
        """Narrow the band for the next working set, where the last one served well."""
        if not solved.exact:
            return
        if solved.first:
            if self.batches.in_memory:
                self.band = float(np.median(np.abs(latest.slack)))
            return
        proven = Certificate.of(latest, found.dual)
        if latest.value <= solved.point.value and proven.meets(LITTLE**2):
            self.widening *= 0.3

    def _gather(self, question: Gather, solved: Work) -> Work:
        """Gather the next working set; ask again where it is too small or too large.

        Where `GROWTH` times as many rows crossed the margin as the last working set
        had, that was too small: rows are gathered at its point, within a wider band.
        """
        work = self._ask(question)
        if not self._evaluates_first:
            self._note(work.point, work)
            if self.certificate.meets(self.control.target):
                return work
        if work.across > question.most_crossed:
            question = self._wider(solved)
            work = self._ask(question)
        elif solved.exact and not (work.across or work.grouping or self._came_back):
            self.goal *= LITTLE  # nothing but precision is missing
        while self._too_few(work) and not self.control.interrupted():
            question = replace(question, widening=question.widening / LITTLE)
            work = self._ask(question)
        if work.overfull:
            work = self._ask(self._fitting(question, work.n, work.near))
        for number, places in work.crossed.items():
            held = self.pinned.get(number)
            self.pinned[number] = places if held is None else concat([held, places])
        return work

    def _wider(self, solved: Work) -> Gather:
        """Gather `GROWTH` times as many rows at the point of the last working set."""
        here, known = solved.point, None
        if self.batches.in_memory:
            known, share = here, GROWTH * solved.problem.n / self.n
            self.band, self.widening = nearest_width(here.slack, min(share, 1.0)), 1.0
        else:
            self.widening /= LITTLE
        return self._question(here.w, here.b, known=known)

    # -- too many rows, or too few -----------------------------------------------------

    def _after_sample(self, solved: Work, found: Pair) -> Gather:
        """Gather the rows that the error of a sample may carry across the margin."""
        problem, point, n = solved.problem, found.point, solved.n
        error = SamplingError(problem, point, 1 - solved.chance, self.control.rng)
        self.band, self.widening = error, 1.0
        question = replace(self._question(point.w, point.b), about=self._about)
        if self.batches.in_memory:
            return question
        xp = namespace(point.slack)
        near = xp.abs(point.slack) <= error(problem, point.slack)
        expected = float(xp.sum(masked(near, 1 / solved.chance)))  # among all rows
        if expected <= self._fit:
            return question
        if not expected <= (1 - LITTLE) * min(self._expected, n):
            return self._fitting(question, n, expected)
        self._expected = expected
        return self._sampled(question, expected)

    @property
    def _fit(self) -> float:
        """How many rows of a sample are expected to fit."""
        return (1 - LITTLE) * self.batches.capacity

    def _too_few(self, work: Work) -> bool:
        """Whether the rows of a chunked working set are too few to determine (w, b)."""
        if self.batches.in_memory or self.grouping is not None:
            return False
        if work.overfull or work.near == work.n:
            return False
        return work.near < 2 * self.batches.d + 50 or not work.balances()

    def _fitting(self, question: Gather, n: int, near: float) -> Gather:
        """What to ask where more of n rows are near than fit: groups, or a sample."""
        question = replace(question, pinned=None)
        if self.batches.sets.proportional:
            self.grouping = self.batches.grouping(n)
            return replace(question, grouping=self.grouping)
        self._cramped, self._expected = True, near  # a set per sample forms no groups
        return self._sampled(question, near)

    def _sampled(self, question: Gather, near: float) -> Gather:
        """Gather a sample of the rows near the margin, as large as fits."""
        share, seed = self._fit / near, self._seed()
        return replace(question, most=np.inf, share=share, seed=seed)

    def _seed(self) -> int:
        return int(self.control.rng.integers(2**31))

    # -- the end -----------------------------------------------------------------------

    def dual_weights(
        self, region: str | None = None, recorded: bool = True
    ) -> tuple[Array | None, Array | None, Array | None]:
        """α of all rows, and masks of those proven to be at 0 and at their weight.

        They are None where memory does not suffice.
        """
        arrays = self.batches.spares(10 * self.n)
        if self.batches.intercept == 0 and not self.batches.spares(80 * self.n):
            region = None  # a free b takes bounds on all margins at once
        if self.proof is None or not (region or arrays):
            return None, None, None
        pair = Pair(self.point, self.proof.dual)
        self.passes += 1
        known = decide_rows(self.batches, Decide(pair, region, arrays, self.proof))
        if region is not None and recorded:
            self.control.record(float(self.passes), self.certificate, known.counts)
        return known.alpha, known.removed, known.saturated


def _solve_again(problem: Problem, control: Control, found: Pair) -> Pair:
    """What was found; where it does not prove `tol`, the best after second attempts.

    Rows of another library are copied to NumPy for these, if they are few.
    """
    if found.certificate.proves(control.tol):
        return found
    if not is_foreign(problem.y):
        return prove(problem, control, found)
    if not affordable(problem):
        return found
    return on_host(problem, found, lambda here, known: prove(here, control, known))
