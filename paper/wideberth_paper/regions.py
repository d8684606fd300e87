"""How much each region screens, on the paper's 32 configurations.

`python -m wideberth_paper.regions` prints, at iterates of relative gap 1e-1 … 1e-6, the
share of samples decided by the paper's rule (GAP ball, separable test), by the midpoint
ball and by the robust ellipsoid, both with the strongest test. All three see the same
iterates.
"""

from __future__ import annotations

from collections.abc import Iterator

from wideberth.problem import Pair, Problem
from wideberth.screening import screen_points
from wideberth.solvers.interior import InteriorPoint
from wideberth_paper import DATASETS, configurations, load

LEVELS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
#: The rules compared, as (heading, region, test).
RULES = (
    ("GAP", "gap", "separable"),
    ("midpoint", "midpoint", None),
    ("ellipsoid", "ellipsoid", None),
)


def shares(problem: Problem) -> Iterator[tuple[float, list[float]]]:
    """Yield (relative gap, share decided by each rule) at one iterate per level."""
    engine = InteriorPoint(problem)
    for level in LEVELS:
        while True:
            point, dual = problem.at(engine.w, engine.b), problem.dual_at(engine.alpha)
            pair = Pair(point, dual)
            gap = pair.certificate.relative_gap
            if gap <= level or not engine.step():
                break
        found = (
            screen_points(problem, pair, region=region, test=test)
            for _, region, test in RULES
        )
        yield gap, [partition.share for partition in found]


def main() -> int:
    """Print the table; the exit code says whether each rule is at least the last."""
    data = {name: load(name) for name in DATASETS}
    headings = "".join(f"{heading:>11}" for heading, _, _ in RULES)
    print(f"{'data':>14}{'C':>7}{'radius':>8}{'rel. gap':>11}{headings}")
    ordered = True
    for name, C, radius in configurations():
        X, y = data[name]
        problem = Problem.from_data(X, y, C=C, radius=radius)
        for gap, decided in shares(problem):
            ordered &= decided == sorted(decided)
            numbers = "".join(f"{share:11.3f}" for share in decided)
            print(f"{name:>14}{C:7g}{radius:8g}{gap:11.1e}{numbers}")
    print(f"\nellipsoid ≥ midpoint ≥ GAP in every row: {'yes' if ordered else 'NO'}")
    return int(not ordered)


if __name__ == "__main__":
    raise SystemExit(main())
