"""The contract of a solver: what it takes, what it does, what it returns.

A solver is an object that holds parameters only. `Solver.solve` takes a `Problem`, a
`Control` and what is known already, and returns a `Pair`: a primal and a dual point
of that problem, evaluated on all rows, and the word for how the run ended. Nothing a
solver claims is trusted; certificate and word follow from the points.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wideberth.problem import Certificate, Pair, Problem
from wideberth.problem.certificate import PROVABLE, Status
from wideberth.problem.changes import cap_weights
from wideberth.problem.limits import CACHED_ENTRIES
from wideberth.problem.validation import check_number, short
from wideberth.screening import Partition, Screener, screen_at_hand

if TYPE_CHECKING:
    from wideberth.solvers.starts import WarmStart


#: 2⁶⁴ ÷ the golden ratio: multiples of it are far from each other.
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass
class Random:
    """A source of random numbers, made when it is first asked for one.

    To make one takes longer than to solve some problems that need none.
    """

    random_state: int | np.random.Generator | None = None
    drawn: int = 0  # how many seeds

    @cached_property
    def generator(self) -> np.random.Generator:
        """The one that was given, or that of a number; None is 0."""
        state = self.random_state
        return np.random.default_rng(0 if state is None else state)

    def seed(self) -> int:
        """A number below 2⁶³ that begins a sequence of its own; no two are the same."""
        state, self.drawn = self.random_state, self.drawn + 1
        if state is None or isinstance(state, int):
            return ((state or 0) * _GOLDEN + self.drawn) % 2**63
        return int(self.generator.integers(2**63))


@dataclass
class Control:
    """When to stop, whom to tell, what may be used, and what was spent.

    `tol` is the relative gap asked for; `aim` one to go on to where that is cheap.
    `screening` names the safe region that decides about samples, or is None; `random`
    is the only source of random numbers. `rows_needed` is the size of the last working
    set, and 0 where the first was enough. `solver` names the one that is at work.
    """

    tol: float = 1e-6
    max_iter: int = 10_000
    deadline: float = np.inf
    callback: Callable[[dict], bool | None] | None = None
    steps: int = 0
    trace: list[dict] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    stopped: bool = False
    aim: float = np.inf
    screening: str | None = "ellipsoid"
    rows_needed: int = 0
    solver: str = ""
    random: Random = field(default_factory=Random)

    @property
    def rng(self) -> np.random.Generator:
        """The generator of its random numbers."""
        return self.random.generator

    @property
    def target(self) -> float:
        """The relative gap at which to stop."""
        return min(self.tol, self.aim)

    def rougher(self, tol: float) -> Control:
        """The same limits for a helper problem, which is silent and not screened."""
        helper = Control(tol, self.max_iter, self.deadline, steps=self.steps)
        helper.screening, helper.random = None, self.random
        helper.stopped = self.stopped
        return helper

    def exhausted(self) -> bool:
        """Whether no further step may be taken."""
        late = time.perf_counter() > self.deadline
        return self.stopped or late or self.steps >= self.max_iter

    def interrupted(self) -> bool:
        """Whether the callback or the clock put an end to it."""
        return self.stopped or time.perf_counter() > self.deadline

    def status(self, certificate: Certificate) -> Status:
        """The word for how a run stands that has this certificate."""
        if certificate.proves(self.tol):
            return "solved"
        if self.stopped:
            return "stopped"
        if self.interrupted():
            return "out of time"
        return "out of steps" if self.exhausted() else "out of precision"

    def judge(self, found: Pair, proof: Certificate | None = None) -> Pair:
        """What was found, with the word for how the run ended.

        `proof` is the certificate to go by, where that is not the one of the points.
        """
        certificate = found.certificate
        judged = Pair(found.point, found.dual, self.status(proof or certificate))
        vars(judged)["certificate"] = certificate  # computed once
        return judged

    def record_pair(self, problem: Problem, found: Pair) -> None:
        """Note points of a problem in memory, and count the samples that they decide.

        Only a callback has them counted: the test costs up to a product with all rows.
        """
        passes, counts = problem.rows.passes.count, None
        if self.callback is not None:
            counts = problem.n, 0, 0
            if self.screening is not None:
                counts = screen_at_hand(problem, found, self.screening).counts
        self.record(passes, found.certificate, counts)

    def record(
        self,
        passes: float,
        certificate: Certificate,
        counts: tuple[int, ...] | None = None,
    ) -> None:
        """Note a point whose gap is known, by a proof or by the estimate of sweeps.

        The callback may ask to stop by returning True.
        `counts` are the numbers of free, saturated and removed samples.
        """
        entry = {
            "iteration": self.steps,
            "seconds": time.perf_counter() - self.started,
            "passes": passes,
            "primal": certificate.primal,
            "dual": certificate.dual,
            "gap": certificate.gap,
        }
        if counts is not None:
            entry |= zip(("free", "saturated", "removed"), counts, strict=True)
        self.trace.append(entry)
        if self.callback is not None and self.callback(entry):
            self.stopped = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """How to solve, as users say it; `solve` says what the fields mean.

    The clock of `max_seconds` runs from when it is made.
    """

    solver: str | Solver = "auto"
    screening: str | None = "ellipsoid"
    tol: float = 1e-6
    max_iter: int = 10_000
    max_seconds: float | None = None
    callback: Callable[[dict], bool | None] | None = None
    random_state: int | np.random.Generator | None = None
    init: object = None
    starts: int = 1
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        check_number(self.max_iter, "max_iter", whole=True)
        check_number(self.tol, "tol", positive=True)
        if self.max_seconds is not None:
            check_number(self.max_seconds, "max_seconds", positive=True)
        if self.callback is not None and not callable(self.callback):
            raise ValueError(
                f"callback={self.callback!r} must be a function of one dict, or None."
            )
        if isinstance(self.starts, bool) or self.starts not in (1, 2, 3):
            raise ValueError(
                f"starts={short(self.starts)} must be 1, 2 or 3: from the hinge, from "
                "the class means too, and from the hinge trimmed."
            )
        seed = self.random_state
        if seed is not None and not (isinstance(seed, int) and seed >= 0):
            _ = Random(seed).generator  # or a refusal, before anything is done

    def control(self, problem: Problem | None = None) -> Control:
        """The limits of a run; on small data its `aim` is below the tolerance.

        Then certificates decide more samples, and a search, which solves from other
        starts, scores its models as single fits do: a gap of 1e-4 lets a sample change
        sides. Not under sets per sample, where every digit costs steps over all cells.
        """
        aim = np.inf
        if problem is not None and problem.noise.proportional:
            small = problem.n * problem.rows.d <= CACHED_ENTRIES
            aim = max(self.tol * self.tol, PROVABLE) if small else np.inf
        limit = np.inf if self.max_seconds is None else float(self.max_seconds)
        return Control(
            float(self.tol),
            int(self.max_iter),
            self.started + limit,
            self.callback,
            started=self.started,
            aim=aim,
            screening=self.screening,
            random=Random(self.random_state),
        )


class Solver(ABC):
    """A way to solve problems; subclasses write `run`, and what else they know better.

    Attributes
    ----------
    name : str
        What users give as `solver`.
    weight_limit : float
        Largest c_i‖z_i‖² that the solver is handed; heavier samples are capped first,
        and the answer is certified under the weights as given.
    predicted : bool
        Whether starts along paths are predictions of the next solution. Otherwise they
        are the solution before, and the samples that it decides are handed over.
    quick : bool
        Whether small tables are solved in the time of evaluating a few points; then
        only slacks are foreseen, which `about` takes.
    """

    name: str
    weight_limit: float = 1e30
    predicted: ClassVar[bool] = False
    quick: ClassVar[bool] = False

    def supports(self, problem: Problem) -> str | None:
        """None where the solver takes the problem, else why not and what to use."""
        return None

    def about(
        self, slack: np.ndarray, rows: int, model: tuple[np.ndarray, float]
    ) -> Solver:
        """The solver, if it is `quick`, that begins at a model and its slacks.

        On so many rows, those nearest to the margin.
        """
        return self

    @abstractmethod
    def run(
        self,
        problem: Problem,
        control: Control,
        start: WarmStart | None,
        decided: Partition | None,
    ) -> Pair:
        """Go on until `control` says stop; return the best points, on all rows.

        `start` holds points of this problem to begin from, however good; `decided` the
        samples whose dual weight is known already. Both may be ignored.
        """

    def solve(
        self,
        problem: Problem,
        control: Control,
        *,
        start: WarmStart | None = None,
        decided: Partition | None = None,
    ) -> Pair:
        """Solve a problem as far as `control` allows; the pair has its status."""
        if (reason := self.supports(problem)) is not None:
            raise ValueError(reason)
        easier = cap_weights(problem, self.weight_limit)
        if easier is problem:
            return control.judge(self.run(problem, control, start, decided))
        if start is not None:
            point = easier.at(start.point.w, start.point.b, start.point.margins)
            alpha = np.minimum(start.alpha, easier.weights)
            start = replace(
                start, problem=easier, point=point, alpha=alpha, combined=None
            )
        found = self.run(easier, control, start, None)
        point = problem.at(found.point.w)
        dual = problem.dual_at(found.dual.alpha, near=point.w)
        return control.judge(Pair(point, dual))


@dataclass
class Best:
    """The best primal and the best dual point of a run that screens while it goes.

    Screening never raises the primal value of a point: values of points found before,
    on larger problems, are upper bounds.
    """

    screener: Screener
    found: Pair = None  # type: ignore[assignment]  # set by the first point

    def keep(self, new: Pair) -> None:
        """Take in points of the problem as screened now.

        Their arrays are kept: hand over copies of those that change later.
        """
        if self.screener.problem is not self.screener.reduction.full:
            whole = self.screener.reduction.unfold(new.dual.alpha)
            new = Pair(new.point, replace(new.dual, alpha=whole))
        old = self.found or new
        lower = new.point.value < old.point.value
        higher = new.dual.value > old.dual.value
        self.found = Pair((new if lower else old).point, (new if higher else old).dual)

    def certified(self, tol: float) -> bool:
        """Whether the best points meet the tolerance on all rows of the problem."""
        return self.found.meets(tol) and self.finish().meets(tol)

    def finish(self) -> Pair:
        """Evaluate the best points on all rows, those screened before included."""
        full, found = self.screener.reduction.full, self.found
        if found.point.margins.size != full.n:
            self.found = Pair(full.at(found.point.w, found.point.b), found.dual)
        return self.found
