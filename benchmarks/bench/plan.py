"""Which problems a benchmark has: the short one of ten minutes, and everything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from benchmarks.bench.cell import TARGETS, Limits
from benchmarks.bench.settings import Setting, plugins

__all__ = ["PLANS", "SCALING_TARGET", "Plan", "Planned"]

#: What the figures of growth measure the time to.
SCALING_TARGET = 1e-4
#: Seconds that a first call may take in any case: skglm compiles for 18.
_COMPILING = 20.0
_FITS = ("fit", "noisy_fit")
#: Solvers that the figures of growth do without, another of their kind being there;
#: and those that the short benchmark has no time for.
_VARIANTS = {f"wideberth_{name}" for name in ("newton", "coordinate", "cold")}
_VARIANTS |= {"scs_paper", "algorithm1"}
_LONG = {"skglm", "scs", "dro"}


@dataclass(frozen=True)
class Planned:
    """A problem, the targets to reach on it, and the growing series it belongs to.

    A solver that fails its target at one size of a series is not tried at larger ones.
    """

    setting: Setting
    targets: tuple[float, ...] = TARGETS
    series: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()

    def solvers(self, names: list[str]) -> list[str]:
        """Those that take part."""
        return [name for name in names if name not in self.without]

    def limits(self, usual: Limits, share: float = inf) -> Limits:
        """The plan's limits, for this problem's targets and so many seconds a cell.

        A third each is for the first call, the ladder and the repeats; a first call
        that compiles may take longer.
        """
        third = share / 3
        seconds = min(usual.seconds, third)
        return replace(
            usual,
            targets=self.targets,
            seconds=seconds,
            first=min(usual.first, max(third, _COMPILING)),
            ladder=min(usual.ladder, third / seconds),
        )


@dataclass(frozen=True)
class Plan:
    """Problems and limits; all together may take so many `hours`."""

    command: str
    problems: tuple[Planned, ...]
    limits: Limits
    hours: float = inf

    def narrowed(self, data, tasks, **limits) -> Plan:
        """Only these data sets and tasks, under other limits."""
        problems = tuple(
            problem
            for problem in self.problems
            if (not data or problem.setting.data in data)
            and (not tasks or problem.setting.task in tasks)
        )
        given = {name: value for name, value in limits.items() if value}
        limits = replace(self.limits, **given)
        return replace(self, problems=problems, limits=limits)

    def sharded(self, number: int, count: int) -> Plan:
        """The problems of one of several processes; a series stays together."""
        owners = dict.fromkeys(p.series or p.setting for p in self.problems)
        mine = set(list(owners)[number - 1 :: count])
        kept = tuple(p for p in self.problems if (p.series or p.setting) in mine)
        return replace(self, problems=kept, hours=self.hours * len(mine) / len(owners))


def _each(tasks, data, factors=(1.0,)) -> list[Planned]:
    return [
        Planned(Setting(task, name, factor=factor))
        for name in data
        for task in tasks
        for factor in factors
    ]


def _growth(name, axis, values, without=frozenset(), **fixed) -> list[Planned]:
    """One data set at growing sizes along one axis, without and with noise."""
    return [
        Planned(
            Setting(task, name, tuple((fixed | {axis: value}).items())),
            (SCALING_TARGET,),
            (task, name, axis),
            frozenset(_VARIANTS | without),
        )
        for task in _FITS
        for value in values
    ]


_SHORT = (
    *_each(_FITS, ("breast_cancer", "spambase", "a9a", "news20", "covtype")),
    *_each(("intercept_fit",), ("breast_cancer", "spambase")),
    *_each(("path", "noisy_path", "cross_validation"), ("breast_cancer",)),
    *_growth("tall", "n", (1_000, 10_000, 100_000), _LONG, d=20),
    *_growth("tall", "d", (10, 100, 1_000), _LONG, n=2_000),
)
_EVERYTHING = (
    *_each(plugins("tasks"), ("breast_cancer", "spambase")),
    *_each(_FITS, ("a9a", "news20", "news20_counts", "covtype"), (0.1, 1.0, 10.0)),
    *_each(("intercept_fit", "path", "noisy_path"), ("a9a", "news20")),
    *_each(("path", "noisy_path"), ("covtype",)),
    *_each(_FITS, ("mnist", "tall", "wide")),
    *_growth("tall", "n", (1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000), d=20),
    *_growth("tall", "d", (10, 30, 100, 300, 1_000, 3_000), n=2_000),
    *_growth("wide", "n", (1_000, 10_000, 100_000), d=50_000),
)
PLANS = {
    "short": Plan("make bench", _SHORT, Limits(6.0, 3, first=30.0)),
    "full": Plan("make bench-full", _EVERYTHING, Limits(60.0, 3, short=False), 1.8),
}
