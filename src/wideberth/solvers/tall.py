"""Few passes over many rows: sample, gather what is near, solve, prove (theory §6.1).

1. *Sample.* The first pass takes a sample of all rows. Its solution, with C scaled up,
   is off by a sampling error that `SamplingError` estimates for every row. A large
   sample is itself solved in this way.
2. *Gather.* The next pass hands over the rows that this error may carry across the
   margin, and folds or merges the others (theory §3).
3. *Solve.* The problem on those rows is solved in memory (`newton.py`). If they are too
   many for that, a sample of them is step 1 again; and once that leaves hardly fewer
   rows in doubt, all rows come in groups instead (`aggregate.py`).
4. *Prove.* The dual point of step 3 is feasible for the whole problem and its value
   exact, so the pass after it, which evaluates the primal, proves the gap. That pass
   hands over the rows that crossed or may still cross: if the gap is not small enough
   they are the next working set, and no pass was wasted.

Folded rows hold nothing back, and a w that runs away costs passes. So dense rows in
memory that are far are merged into cells instead (`cells.py`) where a feature is hardly
any near row's, and where most rows are near, for which cells then stand. Where rows of
a sample are tied at the margin, its central path is carried over to all rows in place
of steps 2 to 4 (`tied.py`), unless it misled. Rows in files and on a device do without
both.

Three passes are typical, whatever the number of rows. Rows in memory are one batch,
files and clusters have many (`passes.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wideberth.problem import Certificate, Pair, PrimalPoint, Problem, equal_rows
from wideberth.problem.arrays import (
    concat,
    host,
    is_foreign,
    like,
    masked,
    namespace,
)
from wideberth.problem.endpoints import null_certificate
from wideberth.problem.equal_rows import merge_equal_rows
from wideberth.problem.limits import LITTLE
from wideberth.problem.rows import gamma
from wideberth.screening import null_point
from wideberth.solvers.aggregate import Grouping
from wideberth.solvers.attempts import affordable, prove
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.cells import Kinds, leave_features_out
from wideberth.solvers.checkpoint import Checkpoint, Standing
from wideberth.solvers.measured import (
    MeasuredRounds,
    dual_with_others,
    solve_near_measured,
)
from wideberth.solvers.newton import Rounds, solve_groups, solve_near
from wideberth.solvers.newton_settings import SETTINGS
from wideberth.solvers.passes import (
    Batches,
    Gather,
    InMemory,
    Sample,
)
from wideberth.solvers.polish import sparse
from wideberth.solvers.proofs import Decide, Proof, with_intercept
from wideberth.solvers.subsample import SamplingError, sample_accuracy, sample_size
from wideberth.solvers.tied import OnPath, is_tied, path_to, solve_tied
from wideberth.solvers.work import PerRow, Work


def solve_from_nothing(problem: Problem, control: Control) -> Outcome:
    """Solve a problem in memory; on a sample first, where that pays."""
    used = np.flatnonzero(problem.weights > 0)
    if used.size < (1 - LITTLE) * problem.n:  # the others would mislead the search
        found = solve_from_nothing(problem.take(used), control)
        alpha = np.zeros(problem.n)
        alpha[used] = found.dual.alpha
        point = problem.at(found.point.w, found.point.b)
        return Outcome(point, problem.dual_at(alpha, near=point.w))
    rounds = Rounds if problem.shared else MeasuredRounds
    if not is_sampled(problem):
        return rounds(problem, control).solve()
    search = Search(InMemory(problem), control)
    search.run()
    if search.tied is not None:
        return search.tied
    if search.proof is None:
        return rounds(problem, control).solve(search.point)
    alpha = search.dual_weights()[0]
    return Outcome(search.point, replace(search.proof.dual, alpha=alpha))


def is_sampled(problem: Problem) -> bool:
    """Whether a problem has so many rows that a sample of them is solved first."""
    size = max(sample_size(problem.n, problem.rows.d), SETTINGS.direct_rows)
    return size <= SETTINGS.copy_share * problem.n


class Search:
    """The run: passes over the batches, and solutions of what they hand over."""

    def __init__(
        self, batches: Batches, control: Control, checkpoint: Checkpoint | None = None
    ):
        self.batches, self.control, self.checkpoint = batches, control, checkpoint
        self.first = True  # whether the rows at hand are those of a first sample
        self.passes, self.n = 0, batches.n or 0
        self.point: PrimalPoint = None  # type: ignore[assignment]  # the lowest so far
        self.null: PrimalPoint | None = None  # w = 0 and the best b
        self.proof: Proof | None = None
        self.expected = np.inf  # rows near the margin, of which a sample is taken
        self.grouping: Grouping | None = None  # once rows near the margin do not fit
        self.kinds: Kinds | None = None  # of rows far away, where these are merged
        self.crowded = False  # they do not fit, and form no groups
        self.tied: OnPath | None = None  # the solution, where most rows are tied

    # -- rounds --------------------------------------------------------------------

    def run(self, begun: tuple[Sample | Gather, Work] | None = None) -> None:
        """Rounds until the gap of the whole problem meets the tolerance.

        They go on from the first pass, where that was made.
        """
        asked, work = begun or self.begin()
        if work.sides and self._is_null(work):
            return
        here = self._note(work, asked)
        smallest, idle, question = np.inf, 0, None
        while True:
            solved, before = work.exact, question
            question = self._round(work, here, 3.0**idle)
            if question is None:
                return
            self._save(question)
            work, question = self._gather(question, before)
            here = self._note(work, question)
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

    def sample(self) -> tuple[Sample, Work]:
        """The first pass: what was asked, and a sample of all rows."""
        share, n, d = 1.0, self.batches.n, self.batches.d
        if n:
            size = max(sample_size(n, d), SETTINGS.direct_rows)
            share = min(1.0, self.batches.capacity / n, size / n)
        seed = int(self.control.rng.integers(2**31))
        whole = self.batches.counter is not None
        sides = self.batches.shared and not whole
        distinct = self.batches.distinct is not None
        sample = Sample(np.zeros(d), share, seed, sides, whole, distinct)
        work = self._pass(sample)
        self.n = work.n
        return sample, work

    def begin(self) -> tuple[Sample | Gather, Work]:
        """The first pass: from where an earlier run stood, or a sample."""
        return self._resumed() or self.sample()

    def _resumed(self) -> tuple[Gather, Work] | None:
        """In place of a sample: what is near where an earlier run stood, if one did."""
        held = None
        if self.checkpoint is not None:
            held = self.checkpoint.load(self.batches.d)
        if held is None:
            return None
        self.n, self.expected = held.n, held.expected
        if held.grouped:
            self.grouping = self.batches.grouping(self.n)
        question = replace(held.question, grouping=self.grouping)
        work, question = self._gather(question, None)
        self.n = work.n
        return question, work

    def _save(self, question: Gather) -> None:
        """Keep what a run that is started again needs.

        Not where the first read handed over all rows: without the proof that came of
        them, a run does better to start from nothing.
        """
        whole = self.first and question.band is None
        if self.checkpoint is not None and not whole:
            known = self.n, self.expected, self.grouping is not None
            self.checkpoint.save(Standing(question, *known))

    @property
    def certificate(self) -> Certificate:
        """The best primal and the best dual value; α = 0 has the value 0."""
        point = self.point
        if self.proof is None:
            return Certificate(point.value, 0.0, point.rounding)
        return Certificate.of(point, self.proof.dual)

    def consider(self, w: np.ndarray, b: float) -> None:
        """Evaluate the objective at a point, which is kept if it is the best."""
        question = Gather(w, b, most=0)
        self._note(self._pass(question), question)

    def _pass(self, question) -> Work:
        """Ask all batches."""
        self.passes += 1
        work = Work(self.batches, question, self._per_row())
        for answer in self.batches.map(question):
            work.add(answer)
        return work

    def _per_row(self) -> PerRow:
        """Room for numbers per row: labels of groups and shares, while both change."""
        return PerRow(self.batches.spares(30 * self.n))

    def _gather(self, question: Gather, before: Gather | None) -> tuple[Work, Gather]:
        """Gather as asked, or otherwise where that hands over too much or too little.

        With many more rows near the margin than before, a point that is worse tells
        that too few were gathered `before`, one that is better that rows moved far, but
        need not go on. Where rows do not fit all come in groups, now and from now on.
        """
        self.first = False
        if self.batches.stays and self.proof is not None:
            work = self._pass(replace(question, most=0))
            if self._good(self._point(work, question)):  # which is likely
                return work, question
        work = self._pass(question)
        point = self._point(work, question)
        if self._good(point):
            return work, question
        if work.overfull and before is not None:
            worse = point.value > self.point.value
            question = before.wider(point) if worse else question.narrower()
            question = replace(question, most=self.batches.capacity)
            work = self._pass(question)
            if self._good(self._point(work, question)):  # by a proof found since
                return work, question
        while self._too_few(work) and not self.control.interrupted():
            wider = SETTINGS.widening * question.widening
            question = replace(question, widening=wider)
            work = self._pass(question)
        if work.overfull and self.batches.shared:
            self.grouping = self.batches.grouping(self.n)
            question = replace(question, pinned=None, grouping=self.grouping)
            work = self._pass(question)
        elif work.overfull:  # rows with sets of their own form no groups
            self.crowded = True
            share, seed = self._room / work.near, int(self.control.rng.integers(2**31))
            question = replace(
                question, pinned=None, most=np.inf, share=share, seed=seed
            )
            work = self._pass(question)
        return work, question

    @property
    def _room(self) -> float:
        """How many rows of a sample are expected to fit."""
        return (1 - LITTLE) * self.batches.capacity

    def _too_few(self, work: Work) -> bool:
        """Whether the rows handed over, not all there are, say too little."""
        if self.grouping is not None or work.overfull or work.near == work.n:
            return False
        return work.near < 2 * self.batches.d + 50 or not work.balances()

    def _good(self, point: PrimalPoint) -> bool:
        """Whether a point and the best dual one meet the tolerance."""
        if self.proof is None:
            return False
        found = Certificate.of(point, self.proof.dual)
        return found.meets(self.control.target)

    def _round(self, work: Work, here: PrimalPoint, widening: float) -> Gather | None:
        """Solve what was handed over at a point; say what to gather next, if any."""
        problem, first = work.problem(), self.first
        if work.exact and work.alpha is not None:
            dual = dual_with_others(problem, work.model, work.alpha, here.w)
            if self.proof is None or dual.value > self.proof.dual.value:
                self.proof = Proof(dual, here, work.split(dual.alpha))
            if self.certificate.meets(self.control.target):
                return None
        found = self._solve_distinct(work, problem, None if first else here)
        self.tied = self._follow(work, problem, found)
        if self.tied is not None:
            return None
        most: float = self.batches.capacity
        if work.exact and not first:
            many = SETTINGS.growth * problem.n, SETTINGS.copy_share * self.n
            most = min(most, max(min(many), SETTINGS.direct_rows))
        question = Gather(
            found.point.w,
            found.point.b,
            before=here,
            widening=widening,
            most=most,
            grouping=self.grouping,
            kinds=self.kinds,
            good=None if self.batches.counter is None else self._good,
        )
        if not work.exact:  # a sample
            return self._beyond_sample(work, problem, found, question)
        dual = found.dual
        best = 0.0 if self.proof is None else self.proof.dual.value
        if dual.value > best:  # that of α = 0 at first
            if self.grouping is None:
                self.proof = work.proof(dual, here)
            else:
                shares = self._per_row()
                work.share_out(dual.alpha, problem.weights, shares)
                self.proof = Proof(dual, here, shares=shares)
        if self.grouping is not None:
            known = None if self.proof is None else self.proof.shares
            return replace(question, shares=known)
        if first:  # everything was solved at once: it is there, or nearly
            question = replace(
                question, before=replace(here, w=question.w, b=question.b)
            )
        proof = None if self.batches.shared else self.proof
        return replace(question, proof=proof, pinned=work.members)

    def _follow(self, work: Work, problem: Problem, found: Outcome) -> OnPath | None:
        """The solution by the central path of a sample with many rows on the margin.

        It begins with the smallest sample, and goes on as long as there is one.
        """
        batches = self.batches
        if work.exact or not isinstance(batches, InMemory) or not problem.shared:
            return None
        begun = isinstance(found, OnPath)
        if not begun and (is_sampled(problem) or not is_tied(problem, found)):
            return None
        inner = self.control.rougher(self._accuracy(problem))
        path = path_to(problem, found, inner)
        self.control.steps = inner.steps
        return solve_tied(batches.problem, self.control, path)

    def _accuracy(self, problem: Problem) -> float:
        """The relative gap to which a sample is solved.

        A rough one would mislead, and cost passes, even where the target is loose.
        """
        accuracy = sample_accuracy(problem.n, problem.rows.d)
        return max(accuracy, 0.5 * LITTLE * self.control.target)

    def _beyond_sample(self, work, problem, found, question: Gather) -> Gather:
        """Gather the rows that the error of a sample may carry across the margin.

        Where they do not fit a sample of them has the smaller error: the other rows are
        folded exactly. Once it is no longer much smaller, all rows come in groups.
        """
        doubt, rng = 1 - work.chance, self.control.rng
        error = SamplingError(problem, found.point, doubt, rng)
        slack, xp = found.point.slack, namespace(found.point.slack)
        band = error(problem, slack)
        if self.batches.counter is not None and self.batches.shared:
            X, weights, most = problem.rows.X, 1 / work.chance, self._most_near
            near = xp.abs(slack) <= band
            many = float(weights[near].sum()) > SETTINGS.near_share * self.n
            tied = many and is_tied(problem, found)
            if tied or leave_features_out(X, weights, near):
                self.kinds = Kinds.of(X, weights, error, band, most)
        question = replace(question, before=None, band=error, kinds=self.kinds)
        if self.kinds is not None:
            return self._fewer(question, xp.abs(slack) / band, 1 / work.chance)
        if self.batches.counter is not None:
            return question
        near = xp.abs(slack) <= band
        count = float(xp.sum(masked(near, 1 / work.chance)))  # expected among all
        room = self._room
        if count <= room:
            return question
        smaller = count <= (1 - LITTLE) * min(self.expected, self.n)
        if smaller or not self.batches.shared:
            self.crowded |= not smaller
            self.expected, seed = count, int(rng.integers(2**31))
            return replace(question, most=np.inf, share=room / count, seed=seed)
        self.grouping = self.batches.grouping(self.n)
        return replace(question, grouping=self.grouping)

    @property
    def _most_near(self) -> int:
        """How many rows near the margin are few: as many as a sample has."""
        return max(sample_size(self.n, self.batches.d), SETTINGS.direct_rows)

    def _fewer(self, question: Gather, distance, weights) -> Gather:
        """No more rows near than may be; cells hold w back in place of the others.

        The farthest are left out, given distances in bands of the rows of a sample and
        what these weigh. Where most rows are tied at the margin distances say nothing:
        of those well within their bands some are picked.
        """
        most, order = self._most_near, np.argsort(distance)
        counts, distance = np.cumsum(weights[order]), distance[order]
        last = int(np.searchsorted(counts, most))
        if last == counts.size or distance[last] > 1:
            return question
        reach = max(float(distance[last]), SETTINGS.well_within)
        doubtful = counts[np.searchsorted(distance, reach, side="right") - 1]
        seed = int(self.control.rng.integers(2**31))
        picked = float(min(most / doubtful, 1.0))
        return replace(question, widening=reach, picked=picked, seed=seed)

    def _solve_distinct(self, work: Work, problem: Problem, here) -> Outcome:
        """Solve the distinct ones of the rows that batches handed over.

        Rows in memory were looked through before, and groups are no rows.
        """
        equal, apart = None, self.batches.counter is None and self.grouping is None
        many = problem.n >= equal_rows.MANY_SAMPLES
        if apart and many and not is_foreign(problem.y):
            equal = merge_equal_rows(problem)
        merged = np.arange(problem.n) >= problem.n - work.merged
        if equal is None:
            return self._solve(work, problem, here, merged)
        distinct = np.zeros(equal.problem.n, dtype=bool)
        distinct[equal.label[merged]] = True
        found = self._solve(work, equal.problem, here, distinct)
        margins = found.point.margins[equal.label]
        point = problem.at(found.point.w, found.point.b, margins)
        alpha = equal.dealt(found.dual.alpha)
        return Outcome(point, replace(found.dual, alpha=alpha))

    def _solve(self, work: Work, problem: Problem, here, merged) -> Outcome:
        """Solve what was handed over, as exactly as it deserves."""
        tol = 0.5 * self.control.target
        if not work.exact:
            tol = self._accuracy(problem)
        elif self.grouping is not None:
            tol = max(tol, LITTLE * min(self.certificate.relative_gap, 0.01))
        inner = self.control.rougher(tol)
        if self.grouping is not None:
            found = solve_groups(problem, inner)
        elif here is None and not is_foreign(problem.y):
            found = solve_from_nothing(problem, inner)
        elif not problem.shared:
            found = solve_near_measured(problem, inner, here, work.model)
        else:
            found = solve_near(problem, inner, here, merged)
        if problem.shared and (work.exact or not found.meets(LITTLE)):
            found = _solve_again(problem, inner, found)
        if work.exact:
            found = sparse(problem, found, inner.tol)
        self.control.steps = inner.steps
        return found

    def _point(self, work: Work, question) -> PrimalPoint:
        """Where a pass evaluated the objective; with its margins, if they are known."""
        if work.point is not None:
            return work.point
        w, b, none = question.w, question.b, np.empty(0)
        (hinge, rounding), penalty = work.loss(), self.batches.intercept or 0.0
        value = hinge + 0.5 * float(w @ w) + 0.5 * penalty * b * b
        omega = self.batches.noise.support(w) if self.batches.shared else 0.0
        if (fold := self.batches.penalty) is not None:
            noise = fold.s * omega + fold.pushes.total(w)
            value, rounding = value + noise, rounding + gamma(w.size + 8) * noise
        return PrimalPoint(w, b, none, omega, none, hinge, value, rounding)

    def _note(self, work: Work, question) -> PrimalPoint:
        """The point of a pass; it is kept if it is the best, and reported."""
        point = self._point(work, question)
        if self.point is None or point.value < self.point.value:
            self.point = point
        if self.null is not None and self._null_is_optimal(self.null):
            self.point = self.null
        counts = (work.rows, work.settled, max(work.n - work.rows - work.settled, 0))
        passes = self.batches.counter
        spent = float(self.passes) if passes is None else passes.count
        self.control.record(spent, self.certificate, counts)
        return point

    # -- the null model --------------------------------------------------------------

    def _is_null(self, work: Work) -> bool:
        """Take the null model, if the closed form proves it (see `endpoints`)."""
        work.check_classes()
        problem, none = work.classes_as_rows(), np.empty(0)
        point = null_point(problem)
        assert problem.folded is not None
        error = gamma(problem.folded.chain + 16) * point.value  # no term is negative
        self.null = replace(point, margins=none, slack=none, rounding=error)
        alpha = null_certificate(problem)
        if alpha is None:
            return False
        if not alpha.any():  # nothing is summed
            problem = replace(problem, folded=None)
        share = alpha / np.where(problem.weights > 0, problem.weights, 1.0)
        rule, dual = replace(self.null, b=0.0), problem.dual_at(alpha)
        upper, lower = np.broadcast_to(share, 2).tolist()
        if not Certificate.of(self.null, dual).meets(self.control.tol):
            return False
        self.point = self.null
        self.proof = Proof(dual, rule, by_class=(upper, lower))
        self.control.record(float(self.passes), self.certificate, (0, self.n, 0))
        return True

    def _null_is_optimal(self, null: PrimalPoint) -> bool:
        """Whether the dual point has w(α) = 0 and proves the null model (theory §2)."""
        if self.proof is None or self.proof.dual.w.any():
            return False
        return Certificate.of(null, self.proof.dual).meets(self.control.tol)

    # -- the end ---------------------------------------------------------------------

    def dual_weights(
        self, region: str | None = None, recorded: bool = True
    ) -> tuple[Any, Any, Any]:
        """α of all rows, and masks of those proven to be at 0 and at their weight.

        They are None where there is no room. With a free b decisions take bounds on all
        margins at once (theory §4.4).
        """
        n, proof, free = self.n, self.proof, self.batches.intercept == 0
        arrays = self.batches.spares(10 * n)
        if free and not self.batches.spares(80 * n):
            region = None
        if proof is None or not (region or arrays):
            return None, None, None
        pair = Pair(self.point, proof.dual)
        self.passes += 1
        question = Decide(pair, region, arrays, proof)
        parts = list(self.batches.map(question))
        counts = tuple(sum(part.counts[k] for part in parts) for k in range(3))
        alpha = removed = saturated = None
        if arrays:
            alpha = concat([part.alpha for part in parts])
        if arrays and region is not None and free:
            known = with_intercept(parts, self.batches.noise)
            removed, saturated, counts = known.removed, known.saturated, known.counts
        elif arrays and region is not None:
            removed = concat([part.removed for part in parts])
            saturated = concat([part.saturated for part in parts])
        if region is not None and recorded:
            self.control.record(float(self.passes), self.certificate, counts)
        return alpha, removed, saturated


def _solve_again(problem: Problem, control: Control, found: Outcome) -> Outcome:
    """What was found, or where it proves less than `tol` the best of second attempts.

    These are for few rows, which come to NumPy for them from wherever they live.
    """
    if found.certificate.proves(control.tol):
        return found
    if not is_foreign(problem.y):
        return prove(problem, control, found)
    if not affordable(problem):
        return found
    here = problem.on_host()
    start = Outcome(
        here.at(found.point.w, found.point.b), here.dual_at(host(found.dual.alpha))
    )
    best = _solve_again(here, control, start)
    alpha = like(best.dual.alpha, problem.weights)
    return Outcome(problem.at(best.point.w, best.point.b), problem.dual_at(alpha))
