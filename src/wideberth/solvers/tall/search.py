"""Few passes over many rows: sample, gather what is near, solve, prove (theory §6.1).

1. *Sample.* The first pass takes a sample of all rows. Its solution, with C scaled up,
   is off by a sampling error that `SamplingError` estimates for every row. A large
   sample is itself solved in this way.
2. *Gather.* The next pass hands over the rows that this error may carry across the
   margin, and folds or merges the others (theory §3). If they are too many, a sample of
   them is step 1 again, or all rows come in groups (`selection.py`).
3. *Solve.* The problem on those rows is solved in memory (`working_set.py`).
4. *Prove.* The dual point of step 3 is feasible for the whole problem and its value
   exact, so the pass after it, which evaluates the primal, proves the gap of the best
   two (`incumbent.py`). That pass hands over the rows that crossed or may still cross:
   if the gap is not small enough they are the next working set, and no pass was wasted.

Where rows of a sample are tied at the margin, its central path is carried over to all
rows in place of steps 2 to 4 (`tied.py`), unless it misled; rows in files and on a
device do without.

Three passes are typical, whatever the number of rows. Rows in memory are one batch,
files and clusters have many (`batches.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wideberth.problem import Certificate, Pair, PrimalPoint, Problem
from wideberth.problem.limits import LITTLE
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.newton.rounds import Rounds
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.tall.batches import Batches, InMemory
from wideberth.solvers.tall.incumbent import Incumbent
from wideberth.solvers.tall.passes import Gather, Sample
from wideberth.solvers.tall.proofs import Decide, Proof, decide_rows
from wideberth.solvers.tall.selection import Selection
from wideberth.solvers.tall.subsample import first_size, is_sampled
from wideberth.solvers.tall.tied import OnPath, solve_where_tied
from wideberth.solvers.tall.work import PerRow, Work
from wideberth.solvers.tall.working_set import WorkingSet


def solve_from_nothing(problem: Problem, control: Control) -> Outcome:
    """Solve a problem in memory; on a sample first, where that pays."""
    used = np.flatnonzero(problem.weights > 0)
    if used.size < (1 - LITTLE) * problem.n:  # the others would mislead the search
        found = solve_from_nothing(problem.take(used), control)
        alpha = np.zeros(problem.n)
        alpha[used] = found.dual.alpha
        point = problem.at(found.point.w, found.point.b)
        return Outcome(point, problem.dual_at(alpha, near=point.w))
    if not is_sampled(problem):
        return Rounds(problem, control).solve()
    search = Search(InMemory(problem), control)
    search.run()
    if search.tied is not None:
        return search.tied
    if search.proof is None:
        return Rounds(problem, control).solve(search.point)
    alpha = search.dual_weights()[0]
    return Outcome(search.point, replace(search.proof.dual, alpha=alpha))


class Search:
    """The run: passes over the batches, and solutions of what they hand over.

    `best` are the points found so far, `selection` decides which rows come next.
    """

    def __init__(self, batches: Batches, control: Control):
        self.batches, self.control = batches, control
        self.best, self.selection = Incumbent(control), Selection(batches, control)
        self.passes, self.n = 0, batches.n or 0
        self.first = True  # whether the rows at hand are those of a first sample
        self.tied: OnPath | None = None  # the solution, where most rows are tied

    @property
    def point(self) -> PrimalPoint:
        """The lowest so far."""
        return self.best.point

    @property
    def proof(self) -> Proof | None:
        """The best dual point so far."""
        return self.best.proof

    @property
    def certificate(self) -> Certificate:
        """What these two prove."""
        return self.best.certificate

    @property
    def crowded(self) -> bool:
        """Whether too many rows are near the margin for the memory allowed."""
        return self.selection.crowded

    # -- rounds --------------------------------------------------------------------

    def run(self, begun: Work | None = None) -> None:
        """Rounds until the gap of the whole problem meets the tolerance.

        They go on from the first pass, where that was made.
        """
        work = begun or self.begin()
        if work.sides and self.best.is_null(work):
            counts = (0, self.n, 0)
            self.control.record(float(self.passes), self.certificate, counts)
            return
        here = self._note(work)
        smallest, idle, before = np.inf, 0, None
        while True:
            solved, question = work.exact, self._round(work, here, 3.0**idle)
            if question is None:
                return
            work = self._gather(question, before)
            before, here = work.question, self._note(work)
            certificate = self.certificate
            if certificate.meets(self.control.target) or self.control.exhausted():
                return
            if solved:
                better = certificate.gap < (1 - LITTLE**2) * smallest
                idle = 0 if better else idle + 1
                smallest = min(smallest, certificate.gap)
            given_up = self.passes > SETTINGS.most_passes
            if given_up or idle > SETTINGS.patience:
                return

    def _round(self, work: Work, here: PrimalPoint, widening: float) -> Gather | None:
        """Solve what was handed over at a point; say what to gather next, if any."""
        held, control = WorkingSet(work, work.problem(), here, self.first), self.control
        known = held.known_proof()
        if known is not None and self.best.rises(known.dual):
            self.best.proof = known
        if known is not None and self.certificate.meets(control.target):
            return None
        found = held.solve(control, self.certificate, solve_from_nothing)
        sampled = not work.exact and held.problem.noise.proportional
        if sampled and isinstance(self.batches, InMemory):
            whole = self.batches.problem
            self.tied = solve_where_tied(whole, control, held.problem, found)
        if self.tied is not None:
            return None
        if work.exact and self.best.rises(found.dual):
            self.best.proof = held.proof(found.dual)
        return self.selection.next(held, found, self.best, widening)

    def _note(self, work: Work) -> PrimalPoint:
        """The point of a pass; it is kept if it is the best, and reported."""
        point = work.point
        self.best.keep(point)
        counts = (work.rows, work.settled, max(work.n - work.rows - work.settled, 0))
        passes = self.batches.counter
        spent = float(self.passes) if passes is None else passes.count
        self.control.record(spent, self.certificate, counts)
        return point

    # -- passes --------------------------------------------------------------------

    def begin(self) -> Work:
        """The first pass: a sample of all rows."""
        share, n, d = 1.0, self.batches.n, self.batches.d
        if n:
            share = min(1.0, self.batches.capacity / n, first_size(n, d) / n)
        seed = int(self.control.rng.integers(2**31))
        whole = self.batches.counter is not None
        sides = self.batches.sets.proportional and not whole
        distinct = self.batches.distinct is not None
        work = self._pass(Sample(np.zeros(d), share, seed, sides, whole, distinct))
        self.n = work.n
        return work

    def consider(self, w: np.ndarray, b: float) -> None:
        """Evaluate the objective at a point, which is kept if it is the best."""
        self._note(self._pass(Gather(w, b, most=0)))

    def _pass(self, question) -> Work:
        """Ask all batches."""
        self.passes += 1
        work = Work(self.batches, question, PerRow.beside(self.batches, self.n))
        for answer in self.batches.map(question):
            work.add(answer)
        return work

    def _gather(self, question: Gather, before: Gather | None) -> Work:
        """Gather as asked, or otherwise where that hands over too much or too little.

        With many more rows near the margin than before, a point that is worse tells
        that too few were gathered `before`, one that is better that rows moved far, but
        need not go on.
        """
        self.first = False
        good = self.best.is_good
        if self.batches.stays and self.proof is not None:
            work = self._pass(replace(question, most=0))
            if good(work.point):  # which is likely
                return work
        work = self._pass(question)
        if good(work.point):
            return work
        if work.overfull and before is not None:
            worse = work.point.value > self.point.value
            question = before.wider(work.point) if worse else question.narrower()
            question = replace(question, most=self.batches.capacity)
            work = self._pass(question)
            if good(work.point):  # by a proof found since
                return work
        while self.selection.too_few(work) and not self.control.interrupted():
            wider = SETTINGS.widening * question.widening
            question = replace(question, widening=wider)
            work = self._pass(question)
        if work.overfull:
            work = self._pass(self.selection.fitting(question, work))
        return work

    # -- the end ---------------------------------------------------------------------

    def dual_weights(
        self, region: str | None = None, recorded: bool = True
    ) -> tuple[Any, Any, Any]:
        """α of all rows, and masks of those proven to be at 0 and at their weight.

        They are None where there is no room.
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
