"""Problems along one parameter, solved where asked and started from both sides.

`Along` solves for an anchor of `screening/ranges.py`. `complete_spans` asks for anchors
until the models between them have a proven gap (theory §16). Along C a span of relative
width h has a gap of the order of h² where many samples change their status within it,
and of less where few do; so every new anchor leaves as many parts on both sides as are
expected to do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.changes import Presolved
from wideberth.problem.limits import TINY
from wideberth.screening import screen_at_hand
from wideberth.screening.ranges import Anchor, Span
from wideberth.solvers.attempts import null_pair, prove
from wideberth.solvers.base import Control, Solver
from wideberth.solvers.paths import Found
from wideberth.solvers.starts import WarmStart

#: Least width of a span, as a share of the range (of its logarithm along C): a choice,
#: far below what any tolerance above that of the solutions asks for.
_NARROWEST = 1e-7
#: A step as a share of the one that is expected to be just short enough, and the most
#: that steps grow from one to the next: choices.
_SHORTER, _LONGER = 0.9, 2.0


@dataclass
class Along:
    """Solves one problem at any value of C, of the factor on the radii or the penalty.

    `axis` says which of `C`, `radius` and `norm_penalty` is the parameter, in units as
    given; the others have one value. `units` is the presolved problem at C = 1.
    """

    units: Presolved
    control: Control
    solver: Solver
    axis: str = "C"
    C: float = 1.0
    radius: float = 1.0
    norm_penalty: float = 0.0
    found: dict[float, Found] = field(default_factory=dict)

    @cached_property
    def _base(self) -> Problem:
        return self.units.level(self.radius, self.norm_penalty)

    @cached_property
    def _moving(self):
        if self.axis != "radius":
            return None
        return self.units.level(1.0, self.norm_penalty).noise

    def problem(self, at: float) -> Problem:
        """The problem at a value of the parameter."""
        if self.axis == "C":
            return self._base.times(at)
        if self.axis == "radius":
            return self.units.level(at, self.norm_penalty).times(self.C)
        return self.units.level(self.radius, at).times(self.C)

    def middle(self, first: float, last: float, share: float = 0.5) -> float:
        """A value in between; along C it is even in the logarithm."""
        if self.axis == "C":
            return math.exp((1 - share) * math.log(first) + share * math.log(last))
        return (1 - share) * first + share * last

    def width(self, first: float, last: float) -> float:
        """The distance of two values; along C that of the logarithms."""
        return math.log(last / first) if self.axis == "C" else last - first

    def solve(self, at: float, span: Span | None = None) -> Anchor:
        """The anchor at a value, started from the span around it."""
        problem = self.problem(at)
        control = replace(self.control, trace=[], started=time.perf_counter())
        passes = problem.rows.passes.count
        start = None if span is None else self._start(problem, at, span)
        known = None if problem.noise.proportional else null_pair(problem)
        first = partial(self.solver.solve, start=start)
        pair = self.units.held(problem, prove(problem, control, known, first))
        outcome, proven = control.judge(pair), None
        if control.screening is not None:
            proven = partial(screen_at_hand, problem, outcome, control.screening)
        seconds = time.perf_counter() - control.started
        spent = problem.rows.passes.count - passes
        self.found[at] = Found(outcome, None, proven, control, spent, seconds)
        self.control.stopped = self.control.stopped or control.stopped
        return Anchor(at, problem, outcome, self._moving)

    def _start(self, problem: Problem, at: float, span: Span) -> WarmStart:
        """The points between those of both ends."""
        t, a, b = span.share(at), span.first.pair, span.last.pair

        def mixed(first, last):
            return (1 - t) * first + t * last

        w, intercept = mixed(a.point.w, b.point.w), mixed(a.point.b, b.point.b)
        same = all(
            each.problem.rows is problem.rows for each in (span.first, span.last)
        )
        margins = mixed(a.point.margins, b.point.margins) if same else None
        point = problem.at(w, intercept, margins)
        alpha = np.minimum(mixed(a.dual.alpha, b.dual.alpha), problem.weights)
        return WarmStart(problem, point, alpha)


def complete_spans(along: Along, low: float, high: float, tol: float) -> Iterator[Span]:
    """Spans from `low` to `high`, in order, of which every model's gap is proven.

    Where rounding or the solver forbids it a span is left as it is. Ends early when
    `along` is told to stop.
    """
    here, ahead = along.solve(low), [along.solve(high)]
    narrowest, step = _NARROWEST * along.width(low, high), np.inf
    while ahead and not along.control.interrupted():
        span = Span.between(here, ahead[-1])
        excess, width = span.proof.excess(tol), along.width(here.at, ahead[-1].at)
        if excess <= 1 or width <= narrowest:
            yield span
            here = ahead.pop()
            step = min(width / math.sqrt(max(excess, TINY)), _LONGER * width)
            continue
        if excess <= _LONGER**2 or not step < width:
            step = width / math.sqrt(min(excess, 1 / tol))
        share = _SHORTER * step / width
        share = share if share + 0.5 * share < 1 else 0.5
        ahead.append(along.solve(along.middle(here.at, ahead[-1].at, share), span))
