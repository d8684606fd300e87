"""Try to catch a screening rule being wrong; `make safety` runs the campaign.

Every random problem comes with a reference: solved to a relative gap of 1e-12 (1e-9 where
only the conic oracle applies), or built around its optimum. Iterates from poor to optimal
are then screened with every region and test, and each claim is held against the
reference, whose own error is known: by strong convexity its w is within √(2G) of the
optimum, so ψ_i is within √(2G)·(‖z_i‖+ρ_iκ). A free b is as certain as the best sample
with 0 < α_i < c_i, whose slack is at most G/min(α_i, c_i−α_i).

* A region is wrong if the reference lies outside it by more than that error.
* A bound is violated if the reference margin lies outside it by more than that error.
* A decision is wrong if the margin is on the other side of its target m_i by more than
  that error, or if the dual weight contradicts it: α_i·(ψ_i−m_i) ≤ G at the reference.
* Decisions about margins within that error of m_i are counted apart.

Targets are 1, as in classification, or drawn at random (theory §14).

Some iterates are chosen so that nothing is lost in the inequality behind the regions:
the optimum is then on their boundary, and a region too small by a little is caught.

One problem in four is also carried to a neighbouring C or radius, and what is decided
there before anything is solved is held against the solution there (sequential screening).
One in four is also read in chunks, and what is decided of its rows is held against it.

Problems whose samples have sets of their own (error bars) have a table of theirs, and so
have quantile regressions and features proven zero (`safety_features.py`), what is proven
of a range of C, radius or penalty, and choices of C that are proven. What is certified
behind kernels is attacked (`safety_kernels.py`).
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from choices import draw_search, examine_choice
from measured import random_measured
from problems import (
    EXTREME_PENALTIES,
    INTERCEPTS,
    SHAPES,
    TARGETS,
    Solved,
    intercept_options,
    make_problem,
    make_solved,
    solved_pair,
)
from ranges import draw_along, examine_span, span_of
from safety_features import COLUMNS, examine_features
from safety_kernels import COLUMNS as ATTACKED
from safety_kernels import examine_kernels
from tools.stored import store
from wideberth import NullModelWarning
from wideberth._solve import solve
from wideberth.problem import Pair, Problem
from wideberth.problem.changes import build_problem
from wideberth.problem.statement import Statement
from wideberth.screening import screen_at_hand
from wideberth.screening.decisions import Partition, screen_points
from wideberth.screening.regions import REGIONS, Region
from wideberth.screening.tests import nameable_tests
from wideberth.solvers.conic import solve_conic
from wideberth.solvers.starts import carry_scaled
from wideberth_paper import configurations, load

NOISE_LEVELS = (1.0, 0.1, 1e-2, 1e-4, 0.0)


class Reference:
    """A near-exact solution and what it proves about the margins."""

    def __init__(self, problem: Problem, solved: Solved | None = None):
        self.problem = problem
        w, b, alpha = (
            self._solve() if solved is None else (solved.w, solved.b, solved.alpha)
        )
        self.w, self.b, self.alpha = w, b, alpha
        self.point, dual = problem.at(w, b), problem.dual_at(alpha, near=w)
        certificate = problem.certificate(self.point, dual)
        self.gap = max(certificate.gap, 0.0) + certificate.rounding
        self.relative_gap = self.gap / max(certificate.scale, 1e-300)
        self.margins = problem.targets - self.point.slack
        #: How far the optimum may be, in the coordinates (w, √λ_b b).
        self.distance = np.sqrt(2 * self.gap)
        reach = problem.rows.norms() + problem.noise.lipschitz(problem.rows.d)
        if problem.intercept:
            reach = np.hypot(reach, problem.intercept**-0.5)
        self.error = self.distance * reach
        if problem.intercept == 0:
            force = np.minimum(alpha, problem.weights - alpha)
            slack = np.full(problem.n, np.inf)
            np.divide(2 * self.gap, force, out=slack, where=force > 0)
            self.error = self.error + np.min(self.error + slack)
        self.error = self.error + 2.0**-51 * np.abs(problem.targets)  # of the margins

    @property
    def exact(self) -> bool:
        """Whether it is close enough to the optimum to judge by."""
        if not self.problem.noise.proportional:
            return self.relative_gap <= 1e-9
        return self.relative_gap <= (1e-11 if self.problem.noise.sets.smooth else 1e-8)

    def _solve(self):
        problem = self.problem
        if problem.noise.proportional and not problem.noise.sets.smooth:
            try:
                found = solve_conic(problem)
            except RuntimeError:  # then this problem is not judged: see `exact`
                return np.zeros(problem.rows.d), 0.0, np.zeros(problem.n)
            return found.w, found.b, found.alpha
        if problem.m is not None:
            best = solved_pair(problem, 1e-12)
            return best.point.w, best.point.b, best.dual.alpha
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = solve(
                problem.rows.X,
                problem.y,
                **parameters(problem),
                tol=1e-12,
                screening=None,
            )
        return found.w, found.b, found.alpha

    def judge(self, partition: Partition, count: Counter) -> None:
        """Hold a partition against this reference and add to the tally."""
        used = self.problem.weights > 0
        removed, saturated = partition.removed & used, partition.saturated & used
        above, margins, error = -self.point.slack, self.margins, self.error
        # Where a free b is not unique the dual weights alone decide.
        exact_margins = np.isfinite(error).all()
        certain = np.abs(above) > error if exact_margins else np.abs(above) > 1e-6
        share = self.alpha / np.where(used, self.problem.weights, 1.0)
        slack_force = np.where(removed, share, 1 - share) * self.problem.weights
        contradicted = slack_force * np.abs(above) > 2 * self.gap
        contradicted |= certain & (np.where(removed, share, 1 - share) > 0.01)
        if exact_margins:
            side = np.where(removed, above < -error, above > error)
            contradicted = side | (contradicted & (np.abs(above) > 2 * error))
            low, high = partition.lower[used], partition.upper[used]
            count["bounds"] += 2 * int(used.sum())
            count["violated"] += int(np.sum(~(low <= margins[used] + error[used])))
            count["violated"] += int(np.sum(~(high >= margins[used] - error[used])))
        if partition.region is not None:
            count["outside"] += int(not self.lies_in(partition.region))
        decided = removed | saturated
        count["samples"] += int(used.sum())
        count["decisions"] += int((decided & certain).sum())
        count["too close to tell"] += int((decided & ~certain).sum())
        count["wrong"] += int((decided & certain & contradicted).sum())

    def lies_in(self, region: Region) -> bool:
        """Whether the optimum may satisfy the inequality of a region (theory §4)."""
        problem, noise = self.problem, self.problem.noise.sets
        apart = float(np.linalg.norm(self.w - region.w))
        if problem.intercept:
            apart = float(np.hypot(apart, problem.intercept**0.5 * (self.b - region.b)))
        left = max(apart - self.distance, 0.0) ** 2
        if region.curvature is not None:
            s, v = region.curvature.s, region.curvature.v
            lipschitz = noise.lipschitz(problem.rows.d) + float(np.linalg.norm(v))
            bracket = noise.support(self.w) - float(v @ self.w)
            left += s * max(bracket - lipschitz * self.distance, 0.0)
        return bool(left <= region.radius**2 * (1 + 1e-12))


def parameters(problem: Problem) -> dict:
    """The arguments of `solve` that state a problem, but for X and y."""
    noise = problem.noise.sets
    return {
        "sample_weight": problem.weights,
        "radius": problem.radii,
        **({"noise": noise} if problem.noise.proportional else error_bars(noise)),
        **intercept_options(problem.intercept),
    }


def error_bars(bars) -> dict:
    """The arguments of `solve` that state sets per sample."""
    if bars.name == "covariance":
        return {"X_err": bars.matrices}
    table = bars.table.X
    if bars.name == "box":
        return {"X_err": table, "error_shape": "box"}
    return {"X_err": table.sqrt() if sp.issparse(table) else np.sqrt(table)}


def iterates(reference: Reference, rng):
    """Primal and dual points at growing distance from the solution.

    Primal points with the best b and with a poor one, those of the dual point itself,
    and those pairs that waste nothing: the optimum beside multipliers that are off only
    where ψ_i = m_i, whose gap is all distance and noise term (theory §4.3).
    """
    problem, b = reference.problem, reference.b
    size = np.linalg.norm(reference.w) + 1e-3
    spread = abs(b) + 1 / np.sqrt(problem.intercept or 1.0)
    for level in NOISE_LEVELS:
        w = reference.w + level * size * rng.normal(size=problem.rows.d)
        alpha = reference.alpha + level * problem.weights * rng.normal(size=problem.n)
        dual = problem.dual_at(alpha)
        yield problem.at(w), dual
        if (
            not problem.noise.proportional
        ):  # w(α) has no closed form, and may start from w
            yield problem.at(w), problem.dual_at(alpha, near=w)
        yield problem.at(dual.w, dual.b if problem.intercept else None), dual
        if level == 0:
            return
        yield reference.point, problem.dual_at(moved_at_margin(reference, level, rng))
        if problem.intercept is not None:
            optimal = problem.dual_at(reference.alpha, near=reference.w)
            yield problem.at(reference.w, b + level * spread * rng.normal()), optimal


def moved_at_margin(reference: Reference, level: float, rng) -> np.ndarray:
    """α moved by a share of what the box allows, where ψ_i = m_i alone."""
    problem, alpha = reference.problem, reference.alpha
    room = np.minimum(alpha, problem.weights - alpha)
    inside = room > 1e-3 * problem.weights
    move = np.where(inside, problem.weights * rng.normal(size=problem.n), 0.0)
    if problem.intercept == 0 and inside.any():
        move -= inside * problem.y * (move @ problem.y) / inside.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(
            move == 0,
            np.inf,
            np.where(move > 0, problem.weights - alpha, alpha) / abs(move),
        )
    step = far.min(initial=np.inf)
    return alpha + level * step * move if np.isfinite(step) else alpha


def examine(reference: Reference, rng) -> dict[tuple[str, str], Counter]:
    """Screen one problem every way there is."""
    problem, tally = reference.problem, {}
    if not reference.exact:
        return {("reference", "not exact enough"): Counter(problems=1)}
    for point, dual in iterates(reference, rng):
        for kind in REGIONS:
            for test in (None, *nameable_tests(problem, kind)):
                partition = screen_points(
                    problem, Pair(point, dual), region=kind, test=test
                )
                count = tally.setdefault((kind, test or "all tests"), Counter())
                reference.judge(partition, count)
            partition = screen_at_hand(problem, Pair(point, dual), kind)
            count = tally.setdefault((kind, "at hand"), Counter())
            reference.judge(partition, count)
    for count in tally.values():
        count["problems"] += 1
    return tally


def examine_carried(reference: Reference, rng) -> dict[tuple[str, str], Counter]:
    """Carry the solution of one problem to a neighbour, and screen there."""
    problem = reference.problem
    dual = problem.dual_at(reference.alpha, near=reference.w)
    last = Pair(reference.point, dual)
    ratio, factor = [(1.02, 1.0), (1.3, 1.0), (0.9, 1.0), (1.0, 1.05)][rng.integers(4)]
    there = problem.with_radii(factor * problem.radii)
    # Lopsided sets move with the radius, and the fold of a quantile loss changes.
    if there.rows is not problem.rows or problem.folded is not None:
        there, ratio = problem, 1.02
    there = there.times(ratio)
    moved = carry_scaled(there, last, ratio).pair
    truth, tally = Reference(there), {}
    if not truth.exact:
        return {("reference", "not exact enough"): Counter(problems=1)}
    for kind in REGIONS:
        partition = screen_points(there, moved, region=kind)
        count = tally.setdefault((kind, "carried"), Counter(problems=1))
        truth.judge(partition, count)
        count = tally.setdefault((kind, "carried, at hand"), Counter(problems=1))
        truth.judge(screen_at_hand(there, moved, kind), count)
    return tally


def examine_chunks(reference: Reference, rng) -> dict[tuple[str, str], Counter]:
    """Read a problem in chunks, and judge what is decided of its rows."""
    problem = reference.problem
    noise = problem.noise
    if problem.m is not None or not (noise.proportional and noise.smooth):
        return {}  # chunks hold labels
    if not reference.exact:
        return {}
    options = parameters(problem)
    size = -(-problem.n // 3)
    arrays = (problem.y, options.pop("sample_weight"), options.pop("radius"))
    chunks = [
        (problem.rows.X[k : k + size], *(array[k : k + size] for array in arrays))
        for k in range(0, problem.n, size)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = solve(chunks, **options, tol=10.0 ** rng.uniform(-8, -1))
    nothing = np.full(problem.n, -np.inf), np.full(problem.n, np.inf)
    count = Counter(problems=1)
    reference.judge(Partition(found.removed, found.saturated, *nothing), count)
    kind = {None: "none", 0: "free"}.get(problem.intercept, "penalised")
    return {("chunks", f"intercept {kind}"): count}


def random_reference(seed: int) -> Reference:
    """One of the campaign's problems; all shapes and intercepts take turns.

    Two of three are built around their optimum, which costs no solver.
    """
    rng = np.random.default_rng([seed, 7])
    combinations = list(itertools.product(SHAPES, (*INTERCEPTS, 0.0, "extreme")))
    shape, intercept = combinations[seed % len(combinations)]
    if intercept == "extreme":
        intercept = float(rng.choice(EXTREME_PENALTIES))
    common = {
        "shape": shape,
        "intercept": intercept,
        "d": int(rng.integers(1, 8)),
        "radius": float(rng.choice([0.0, 0.01, 0.05, 0.2, 0.5, 1.0, 3.0])),
        "radius_decades": int(rng.choice([0, 3])),
        "unit": float(rng.choice([1.0, 1e-3, 1e3])),
    }
    if rng.integers(3):
        solved = make_solved(
            seed,
            n=int(rng.integers(4, 25)),
            duplicates=bool(rng.integers(2)),
            at_margin=float(rng.choice([0.0, 0.2, 0.5, 1.0])),
            **common,
        )
        return Reference(solved.problem, solved)
    problem = make_problem(
        seed,
        n=int(rng.integers(4, 40)),
        C=10.0 ** rng.uniform(-3, 3) / common["unit"] ** 2,
        spread_radii=bool(rng.integers(2)),
        weights=str(rng.choice(["ones", "random", "some zero"])),
        oddity=rng.choice([None, "duplicates", "constant column", "tiny class"]),
        sparse=bool(rng.integers(2)),
        dtype=[np.float32, np.float64][rng.integers(2)],
        separation=float(rng.choice([0.0, 0.5, 1.0, 3.0])),
        targets=str(rng.choice(["ones", *TARGETS])),
        **common,
    )
    return Reference(problem)


def examine_seeds(seeds: range) -> dict[tuple[str, str], Counter]:
    """Examine a batch of random problems."""
    total: dict[tuple[str, str], Counter] = {}
    for seed in seeds:
        rng = np.random.default_rng([seed, 11])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NullModelWarning)
            reference = random_reference(seed)
            merge(total, examine(reference, rng))
            if rng.integers(4) == 0:
                merge(total, examine_carried(reference, rng))
            if rng.integers(4) == 0:
                merge(total, examine_chunks(reference, rng))
    return total


def examine_measured(seeds: range) -> dict[tuple[str, str], Counter]:
    """Examine a batch of random problems with a set per sample."""
    return _examine_drawn(seeds, random_measured, 13)


def _examine_drawn(seeds: range, draw, salt: int) -> dict[tuple[str, str], Counter]:
    """Examine the problems that `draw` makes of seeds; carry one in four of them."""
    total: dict[tuple[str, str], Counter] = {}
    for seed in seeds:
        rng = np.random.default_rng([seed, salt])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NullModelWarning)
            reference = Reference(draw(seed, rng))
            merge(total, examine(reference, rng))
            if rng.integers(4) == 0 and reference.exact:
                merge(total, examine_carried(reference, rng))
    return total


def random_quantile(seed: int, rng) -> Problem:
    """A quantile regression; kinds of noise and intercepts take turns (theory §15)."""
    kinds = (*SHAPES, "cells", "tolerances", "lopsided")
    shape, intercept = list(itertools.product(kinds, INTERCEPTS))[seed % 21]
    n, d = int(rng.integers(4, 40)), int(rng.integers(1, 8))
    X, unit = rng.normal(size=(n, d)), 10.0 ** rng.choice([-3, 0, 3])
    y = X @ rng.normal(size=d) + rng.standard_t(2, size=n) + rng.choice([0.0, 100.0])
    if rng.integers(3) == 0:
        y = np.round(y)  # ties
    if rng.integers(4) == 0:
        X[n // 2 :], y[n // 2 :] = X[: n - n // 2], y[: n - n // 2]
    stated = {
        "C": 10.0 ** rng.uniform(-3, 2),
        "radius": float(rng.choice([0.0, 0.05, 0.3, 1.0])),
        "quantile": float(rng.choice([0.05, 0.3, 0.5, 0.5, 0.8])),
        **intercept_options(intercept),
        "sample_weight": rng.integers(0, 3, size=n).astype(float),
    }
    stated["sample_weight"][:2] = 1.0
    cells = rng.uniform(0, 1, size=(2, n, d)) * (rng.random((n, d)) < 0.8)
    if shape in ("cells", "tolerances", "lopsided"):
        stated["X_err"] = tuple(cells) if shape == "lopsided" else cells[0]
        stated["error_shape"] = "ellipsoid" if shape == "cells" else "box"
    else:
        stated["noise"] = rng.uniform(0, 2, size=d) if shape == "ellipsoid" else shape
    return build_problem(X, unit * y, Statement(loss="quantile", **stated)).posed


def examine_quantiles(seeds: range) -> dict[tuple[str, str], Counter]:
    """Examine a batch of random quantile regressions."""
    return _examine_drawn(seeds, random_quantile, 17)


def examine_ranges(seeds: range) -> dict[tuple[str, str], Counter]:
    """What two solutions claim of all optima between, held against Clarabel (§16)."""
    total: dict[tuple[str, str], Counter] = {}
    for seed in seeds:
        rng = np.random.default_rng([23, seed])
        kind = ("exact", "rough", "one pair", "random")[seed // 9 % 4]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            along, low, high = draw_along(seed)
            span = span_of(along, low, high, kind, rng)
            found = examine_span(along, span, rng)
        count = Counter(problems=1, outside=found["outside"])
        count["violated"] = found["uncertified"]
        merge(total, {("range", f"{along.axis}, {kind}"): count})
    return total


def examine_choices(seeds: range, values: int) -> dict[tuple[str, str], Counter]:
    """Proven choices of C, held against so many values of C (§17)."""
    total: dict[tuple[str, str], Counter] = {}
    for seed in seeds:
        search, fit = draw_search(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = examine_choice(search, fit, values)
        count = Counter(problems=1, bounds=found["values"], violated=found["violated"])
        merge(total, {("choice", type(search).__name__): count})
    return total


def examine_paper(configuration) -> dict[tuple[str, str], Counter]:
    """Examine one of the paper's configurations."""
    name, C, radius = configuration
    X, y = load(name)
    problem = Problem.from_data(X, y, C=C, radius=radius)
    return examine(Reference(problem), np.random.default_rng(0))


def merge(total, part) -> None:
    """Add the tallies of `part` to `total`."""
    for key, count in part.items():
        total.setdefault(key, Counter()).update(count)


#: What must never be found.
BAD = ("wrong", "violated", "outside")


def report(title: str, total, columns) -> None:
    """Print a table of tallies."""
    print(f"\n{title}")
    print(f"{'':>26}" + "".join(f"{column:>24}" for column in columns))
    for key in sorted(total):
        numbers = "".join(f"{total[key][column]:>24,}" for column in columns)
        print(f"{' / '.join(key):>26}" + numbers)


def main() -> int:
    """Run the campaign; exit code 1 if anything is wrong or nothing was decided."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=15_000)
    parser.add_argument("--measured", type=int, default=5_000)
    parser.add_argument("--quantiles", type=int, default=5_000)
    parser.add_argument("--features", type=int, default=5_000)
    parser.add_argument("--ranges", type=int, default=3_000)
    parser.add_argument("--choices", type=int, default=300)
    parser.add_argument("--values", type=int, default=2_000, help="of C, for a choice")
    parser.add_argument("--kernels", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--store", action="store_true", help="for the pages")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        total = sweep(pool, examine_seeds, options.problems)
        measured = sweep(pool, examine_measured, options.measured)
        quantiles = sweep(pool, examine_quantiles, options.quantiles)
        features = sweep(pool, examine_features, options.features)
        ranges = sweep(pool, examine_ranges, options.ranges)
        choosing = partial(examine_choices, values=options.values)
        choices = sweep(pool, choosing, options.choices, batch=5)
        kernels = sweep(pool, examine_kernels, options.kernels, batch=20)
        paper = {}
        for part in pool.map(examine_paper, list(configurations())):
            merge(paper, part)
    columns = [
        "problems", "decisions", "wrong", "too close to tell", "bounds", "violated",
        "outside",
    ]  # fmt: skip
    report(f"{options.problems:,} random problems", total, columns)
    report(f"{options.measured:,} with a set per sample", measured, columns)
    report(f"{options.quantiles:,} quantile regressions", quantiles, columns)
    report(f"{options.features:,} that leave features out", features, COLUMNS)
    report(f"{options.ranges:,} ranges of C, radius or penalty", ranges, columns)
    report(f"{options.choices:,} proven choices of C", choices, columns)
    report(f"{options.kernels:,} models behind kernels", kernels, ATTACKED)
    report("The paper's 32 configurations", paper, columns)
    parts = {
        "random problems": (options.problems, total),
        "a set for every sample": (options.measured, measured),
        "quantile regressions": (options.quantiles, quantiles),
        "noise that leaves features out": (options.features, features),
        "ranges of C, radius or penalty": (options.ranges, ranges),
        "proven choices of C": (options.choices, choices),
        "models behind kernels": (options.kernels, kernels),
        "configurations of the paper": (32, paper),
    }
    if options.store:
        counts = ("decisions", "zeros", "moves"), ("bounds",), BAD
        rows = [
            [title, n, *(sum(one[kind] for one in part.values() for kind in kinds)
                         for kinds in counts)]
            for title, (n, part) in parts.items()
        ]  # fmt: skip
        heads = ["what", "problems", "decisions or moves", "bounds", "wrong"]
        store("safety", heads, rows)
    return verdict(part for _, part in parts.values())


def sweep(
    pool, examine_batch, problems: int, batch: int = 100
) -> dict[tuple[str, str], Counter]:
    """Examine so many random problems, and say how far it is."""
    started, total = time.perf_counter(), {}
    batches = [range(k, min(k + batch, problems)) for k in range(0, problems, batch)]
    for k, part in enumerate(pool.map(examine_batch, batches), 1):
        merge(total, part)
        elapsed = time.perf_counter() - started
        print(
            f"\r{k * batch:,} problems, {elapsed:.0f} s, about "
            f"{elapsed / k * (len(batches) - k):.0f} s left ",
            end="",
            file=sys.stderr,
        )
    return total


def verdict(parts) -> int:
    """Say what was found."""
    parts = list(parts)
    rules = [count for part in parts for count in part.values()]
    wrong = sum(count[kind] for count in rules for kind in BAD)
    idle = [key for part in parts for key, count in part.items()
            if key[0] in REGIONS and not count["decisions"]]  # fmt: skip
    print(f"\nWrong decisions, bounds or regions: {wrong}")
    print(f"Rules that never decided anything: {len(idle)}")
    return int(wrong > 0 or bool(idle))


if __name__ == "__main__":
    sys.exit(main())
