"""Try to catch a screening rule being wrong; `make safety` runs the campaign.

Every random problem is solved to a relative gap of 1e-12 (1e-9 where only the conic
oracle applies). Iterates from poor to optimal are then screened with every region and
test, and each claim is held against the reference, whose own error is known: by strong
convexity its w is within √(2G) of the optimum, so ψ_i is within √(2G)·(‖z_i‖+ρ_iκ).

* A bound is violated if the reference margin lies outside it by more than that error.
* A decision is wrong if the margin is on the other side of 1 by more than that error, or
  if the dual weight contradicts it: α_i·(ψ_i−1) ≤ G at the reference.
* Decisions about margins within that error of 1 are counted apart.

One problem in four is also carried to a neighbouring C or radius, and what is decided
there before anything is solved is held against the solution there (sequential screening).
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from problems import INTERCEPTS, SHAPES, make_problem
from wideberth import NullModelWarning
from wideberth.bounds import nameable_tests
from wideberth.paper import configurations, load
from wideberth.paper.algorithm1 import VARIANTS, run_algorithm1
from wideberth.paper.reference import wrong_decisions
from wideberth.problem import Problem
from wideberth.regions import REGIONS
from wideberth.screening import Partition, screen_points
from wideberth.sequence import carry
from wideberth.solve import solve
from wideberth.solvers.conic import solve_conic
from wideberth.solvers.control import Outcome

NOISE_LEVELS = (1.0, 0.1, 1e-2, 1e-3, 1e-5, 0.0)


class Reference:
    """A near-exact solution and what it proves about the margins."""

    def __init__(self, problem: Problem):
        self.problem = problem
        w, b, alpha = self._solve()
        self.w, self.b, self.alpha = w, b, alpha
        point, dual = problem.at(w, b), problem.dual_at(alpha)
        certificate = problem.certificate(point, dual)
        self.gap = max(certificate.gap, 0.0) + certificate.rounding
        self.relative_gap = self.gap / max(certificate.primal, 1e-300)
        self.margins = 1 - point.slack
        reach = problem.rows.norms() + problem.radii * problem.noise.lipschitz(
            problem.rows.d
        )
        if problem.intercept:
            reach = np.hypot(reach, problem.intercept**-0.5)
        self.error = np.sqrt(2 * self.gap) * reach

    def _solve(self):
        problem = self.problem
        if not problem.noise.smooth:
            found = solve_conic(problem)
            return found.w, found.b, found.alpha
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = solve(
                problem.rows.X,
                problem.y,
                sample_weight=problem.weights,
                radius=problem.radii,
                noise=problem.noise,
                fit_intercept=problem.intercept is not None,
                intercept_penalty=problem.intercept or 0.0,
                tol=1e-12,
                screening=None,
            )
        return found.w, found.b, found.alpha

    def judge(self, partition: Partition, count: Counter) -> None:
        """Hold a partition against this reference and add to the tally."""
        used = self.problem.weights > 0
        removed, saturated = partition.removed & used, partition.saturated & used
        above, margins, error = self.margins - 1, self.margins, self.error
        # A free b is not unique, so there the dual weights alone decide.
        exact_margins = self.problem.intercept != 0
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
            count["violated"] += int(np.sum(margins[used] + error[used] < low))
            count["violated"] += int(np.sum(margins[used] - error[used] > high))
        decided = removed | saturated
        count["samples"] += int(used.sum())
        count["decisions"] += int((decided & certain).sum())
        count["too close to tell"] += int((decided & ~certain).sum())
        count["wrong"] += int((decided & certain & contradicted).sum())


def iterates(reference: Reference, rng):
    """Primal and dual points at growing distance from the solution."""
    problem = reference.problem
    size = np.linalg.norm(reference.w) + 1e-3
    for level in NOISE_LEVELS:
        w = reference.w + level * size * rng.normal(size=problem.rows.d)
        alpha = reference.alpha + level * problem.weights * rng.normal(size=problem.n)
        dual = problem.dual_at(alpha)
        yield problem.at(w), dual
        yield problem.at(dual.w, dual.b if problem.intercept else None), dual


def examine(problem: Problem, rng) -> dict[tuple[str, str], Counter]:
    """Screen one problem every way there is."""
    reference, tally = Reference(problem), {}
    limit = 1e-11 if problem.noise.smooth else 1e-8
    if reference.relative_gap > limit:
        return {("reference", "not exact enough"): Counter(problems=1)}
    for point, dual in iterates(reference, rng):
        for kind in REGIONS:
            for test in (None, *nameable_tests(problem, kind)):
                partition = screen_points(problem, point, dual, region=kind, test=test)
                count = tally.setdefault((kind, test or "all tests"), Counter())
                reference.judge(partition, count)
    for count in tally.values():
        count["problems"] += 1
    return tally


def examine_carried(problem: Problem, rng) -> dict[tuple[str, str], Counter]:
    """Carry the solution of one problem to a neighbour, and screen there."""
    reference = Reference(problem)
    last = Outcome(
        problem.at(reference.w, reference.b), problem.dual_at(reference.alpha)
    )
    ratio, factor = [(1.02, 1.0), (1.3, 1.0), (0.9, 1.0), (1.0, 1.05)][rng.integers(4)]
    there = problem.with_radii(factor * problem.radii)
    there = there.with_weights(ratio * problem.weights)
    moved, truth, tally = carry(there, last, ratio), Reference(there), {}
    limit = 1e-11 if problem.noise.smooth else 1e-8
    if truth.relative_gap > limit:
        return {("reference", "not exact enough"): Counter(problems=1)}
    for kind in REGIONS:
        partition = screen_points(there, moved.point, moved.dual, region=kind)
        count = tally.setdefault((kind, "carried"), Counter(problems=1))
        truth.judge(partition, count)
    return tally


def random_problem(seed: int) -> Problem:
    """One of the campaign's problems; all shapes and intercepts take turns."""
    rng = np.random.default_rng([seed, 7])
    combinations = list(itertools.product(SHAPES, INTERCEPTS))
    shape, intercept = combinations[seed % len(combinations)]
    return make_problem(
        seed,
        n=int(rng.integers(4, 40)),
        d=int(rng.integers(1, 8)),
        C=10.0 ** rng.uniform(-3, 3),
        radius=float(rng.choice([0.0, 0.01, 0.05, 0.2, 0.5, 1.0, 3.0])),
        shape=shape,
        intercept=intercept,
        spread_radii=bool(rng.integers(2)),
        weights=str(rng.choice(["ones", "random", "some zero"])),
        oddity=rng.choice([None, "duplicates", "constant column", "tiny class"]),
        sparse=bool(rng.integers(2)),
        dtype=[np.float32, np.float64][rng.integers(2)],
        separation=float(rng.choice([0.0, 0.5, 1.0, 3.0])),
    )


def examine_seeds(seeds: range) -> dict[tuple[str, str], Counter]:
    """Examine a batch of random problems."""
    total: dict[tuple[str, str], Counter] = {}
    for seed in seeds:
        rng = np.random.default_rng([seed, 11])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NullModelWarning)
            merge(total, examine(random_problem(seed), rng))
            if seed % 4 == 0:
                merge(total, examine_carried(random_problem(seed // 4), rng))
    return total


def examine_paper(configuration) -> dict[tuple[str, str], Counter]:
    """Examine one of the paper's configurations."""
    name, C, radius = configuration
    X, y = load(name)
    problem = Problem.from_data(X, y, C=C, radius=radius)
    return examine(problem, np.random.default_rng(0))


def audit_algorithm1(configuration) -> dict[tuple[str, str], Counter]:
    """Hold the decisions of each reading of Algorithm 1 against the reference."""
    name, C, radius = configuration
    X, y = load(name)
    problem = Problem.from_data(X, y, C=C, radius=radius)
    reference, tally = Reference(problem), {}
    for variant in VARIANTS:
        partition = run_algorithm1(problem, variant).partition
        wrong_removals, wrong_saturations = wrong_decisions(
            partition, reference.alpha, problem.weights
        )
        tally[name, variant] = Counter(
            {
                "problems": 1,
                "decisions": sum(partition.counts[1:]),
                "wrong removals": wrong_removals,
                "wrong saturations": wrong_saturations,
                "configurations affected": int(wrong_removals > 0),
            }
        )
    return tally


def merge(total, part) -> None:
    """Add the tallies of `part` to `total`."""
    for key, count in part.items():
        total.setdefault(key, Counter()).update(count)


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
    parser.add_argument("--problems", type=int, default=20_500)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    started, total = time.perf_counter(), {}
    batch = 100
    batches = [
        range(k, min(k + batch, options.problems))
        for k in range(0, options.problems, batch)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        for k, part in enumerate(pool.map(examine_seeds, batches), 1):
            merge(total, part)
            elapsed = time.perf_counter() - started
            print(
                f"\r{k * batch:,} problems, {elapsed:.0f} s, about "
                f"{elapsed / k * (len(batches) - k):.0f} s left ",
                end="",
                file=sys.stderr,
            )
        paper, audit = {}, {}
        for part in pool.map(examine_paper, list(configurations())):
            merge(paper, part)
        for part in pool.map(audit_algorithm1, list(configurations())):
            merge(audit, part)
    columns = [
        "problems", "decisions", "wrong", "too close to tell", "bounds", "violated"
    ]  # fmt: skip
    report(f"{options.problems:,} random problems", total, columns)
    report("The paper's 32 configurations", paper, columns)
    audit_columns = [
        "decisions", "wrong removals", "wrong saturations", "configurations affected"
    ]  # fmt: skip
    report("Algorithm 1 of the paper, by the same harness", audit, audit_columns)
    return verdict(total, paper, audit)


def verdict(total, paper, audit) -> int:
    """Say what was found."""
    rules = [count for part in (total, paper) for count in part.values()]
    wrong = sum(count["wrong"] + count["violated"] for count in rules)
    idle = [key for part in (total, paper) for key, count in part.items()
            if key[0] in REGIONS and not count["decisions"]]  # fmt: skip
    found = sum(
        count["wrong removals"]
        for key, count in audit.items()
        if key[1] == "as_published"
    )
    print(f"\nWrong decisions or violated bounds: {wrong}")
    print(f"Rules that never decided anything: {len(idle)}")
    print(f"Wrong removals found in the published algorithm: {found}")
    return int(wrong > 0 or bool(idle) or found == 0)


if __name__ == "__main__":
    sys.exit(main())
