"""Which rows the next pass hands over, given how many there is room for.

After a sample it is those that its error may carry across the margin; after rows that
were near it, those that crossed or may still cross. Where they are too many:

* a sample of them has the smaller error, for all others are folded exactly;
* once that error is hardly smaller, all rows come in groups (`aggregate.py`);
* of dense rows in memory that are many the farthest are merged into cells
  (`cells.py`), which hold w back in their place.

Folded rows hold nothing back, and a w that runs away costs passes. So rows in memory
come with cells also where a feature is hardly any near row's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.arrays import masked, namespace
from wideberth.problem.limits import LITTLE
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.tall.aggregate import Grouping
from wideberth.solvers.tall.batches import Batches
from wideberth.solvers.tall.cells import Kinds, leave_features_out
from wideberth.solvers.tall.incumbent import Incumbent
from wideberth.solvers.tall.passes import Gather
from wideberth.solvers.tall.subsample import SamplingError, first_size
from wideberth.solvers.tall.tied import is_tied
from wideberth.solvers.tall.work import Work
from wideberth.solvers.tall.working_set import WorkingSet


class Selection:
    """What a search asks of the batches, and what it has learnt about their room.

    `expected` rows near the margin were those of which a sample is taken.
    """

    def __init__(self, batches: Batches, control: Control):
        self.batches, self.control = batches, control
        self.expected = np.inf
        self.grouping: Grouping | None = None  # once rows near the margin do not fit
        self._kinds: Kinds | None = None  # of rows far away, where these are merged
        self._cramped = False  # they do not fit, and form no groups

    @property
    def crowded(self) -> bool:
        """Whether too many rows are near the margin for the room there is."""
        return self._cramped or self.grouping is not None

    @property
    def _room(self) -> float:
        """How many rows of a sample are expected to fit."""
        return (1 - LITTLE) * self.batches.capacity

    def next(
        self, held: WorkingSet, found: Outcome, best: Incumbent, widening: float
    ) -> Gather:
        """What to gather at the solution of a working set, and after what is `best`."""
        w, b, here, work = found.point.w, found.point.b, held.here, held.work
        question = Gather(
            w,
            b,
            before=here,
            widening=widening,
            most=self._most(held),
            grouping=self.grouping,
            kinds=self._kinds,
            good=None if self.batches.counter is None else best.is_good,
        )
        if not work.exact:
            return self._beyond_sample(held, found, question)
        if self.grouping is not None:
            shares = None if best.proof is None else best.proof.shares
            return replace(question, shares=shares)
        if held.first:  # everything was solved at once: it is there, or nearly
            question = replace(question, before=replace(here, w=w, b=b))
        proof = None if self.batches.sets.proportional else best.proof
        return replace(question, proof=proof, pinned=work.members)

    def _most(self, held: WorkingSet) -> float:
        """How many rows may be near: not many more than were, or a copy would hold."""
        most: float = self.batches.capacity
        if held.work.exact and not held.first:
            grown = SETTINGS.growth * held.problem.n
            many = min(grown, SETTINGS.copy_share * held.work.n)
            most = min(most, max(many, SETTINGS.direct_rows))
        return most

    # -- after a sample ----------------------------------------------------------------

    def _beyond_sample(
        self, held: WorkingSet, found: Outcome, question: Gather
    ) -> Gather:
        """Gather the rows that the error of a sample may carry across the margin."""
        problem, work, slack = held.problem, held.work, found.point.slack
        error = SamplingError(problem, found.point, 1 - work.chance, self.control.rng)
        xp, band, counts = namespace(slack), error(problem, slack), 1 / work.chance
        distance = xp.abs(slack)
        near = distance <= band
        question = replace(question, before=None, band=error)
        if self.batches.counter is None:
            expected = float(xp.sum(masked(near, counts)))  # among all rows
            return self._within_room(question, expected, work.n)
        few = first_size(work.n, self.batches.d)  # as many as a sample has
        if self.batches.sets.proportional and self._merges(
            problem, found, near, counts, work.n
        ):
            self._kinds = Kinds.of(problem.rows.X, counts, error, band, few)
        question = replace(question, kinds=self._kinds)
        if self._kinds is None:
            return question
        return self._fewer(question, distance / band, counts, few)

    def _merges(self, problem: Problem, found: Outcome, near, counts, n: int) -> bool:
        """Whether to merge rows far away, as the rows `near` of a sample tell.

        Each of these stands for `counts` of all n rows.
        """
        many = float(counts[near].sum()) > SETTINGS.near_share * n
        tied = many and is_tied(problem, found)
        return tied or leave_features_out(problem.rows.X, counts, near)

    def _fewer(self, question: Gather, distance, counts, most: int) -> Gather:
        """No more rows near than `most`; cells hold w back in place of the others.

        The farthest are left out, given distances in bands of the rows of a sample and
        how many rows each stands for. Where most rows are tied at the margin distances
        say nothing: of those well within their bands some are picked.
        """
        order = np.argsort(distance)
        counts, distance = np.cumsum(counts[order]), distance[order]
        last = int(np.searchsorted(counts, most))
        if last == counts.size or distance[last] > 1:
            return question
        reach = max(float(distance[last]), SETTINGS.well_within)
        doubtful = counts[np.searchsorted(distance, reach, side="right") - 1]
        picked = float(min(most / doubtful, 1.0))
        return replace(question, widening=reach, picked=picked, seed=self._seed())

    def _within_room(self, question: Gather, expected: float, n: int) -> Gather:
        """The question, or another one where more rows are `expected` near than fit."""
        if expected <= self._room:
            return question
        fewer = expected <= (1 - LITTLE) * min(self.expected, n)
        if not fewer and self.batches.sets.proportional:
            return self._in_groups(question, n)
        self._cramped |= not fewer
        self.expected = expected
        return self._in_part(question, expected)

    # -- after a pass ------------------------------------------------------------------

    def too_few(self, work: Work) -> bool:
        """Whether the rows handed over, not all there are, say too little."""
        if self.grouping is not None or work.overfull or work.near == work.n:
            return False
        return work.near < 2 * self.batches.d + 50 or not work.balances()

    def fitting(self, question: Gather, overfull: Work) -> Gather:
        """What to ask where too many rows were near for any to be handed over."""
        question = replace(question, pinned=None)
        if self.batches.sets.proportional:
            return self._in_groups(question, overfull.n)
        self._cramped = True  # rows with sets of their own form no groups
        return self._in_part(question, overfull.near)

    def _in_groups(self, question: Gather, n: int) -> Gather:
        """All n rows in groups, now and from now on."""
        self.grouping = self.batches.grouping(n)
        return replace(question, grouping=self.grouping)

    def _in_part(self, question: Gather, near: float) -> Gather:
        """A sample of so many rows near the margin that fits."""
        share, seed = self._room / near, self._seed()
        return replace(question, most=np.inf, share=share, seed=seed)

    def _seed(self) -> int:
        return int(self.control.rng.integers(2**31))
