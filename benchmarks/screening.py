"""What screening costs; `make bench-screening`.

Screening n = 10⁶ rows whose margins and norms are known, against one product X @ w with
d = 50, in one run on one thread, from poor points and from good ones.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

import data
from wideberth import Problem, solve
from wideberth.screening import screen_points

REGIONS = ("gap", "midpoint", "ellipsoid")


def main() -> int:
    X, y = data.tall(1_000_000)
    problem = Problem.from_data(X, y, C=0.01, radius=0.05)
    print(f"{'relative gap':>12} {'region':>10} {'products':>9} {'decided':>8}")
    with threadpool_limits(1):
        for tol in (1e-3, 1e-5, 1e-7):
            solution = solve(X, y, C=0.01, radius=0.05, tol=tol, random_state=0)
            dual = problem.dual_at(solution.alpha)
            point = problem.at(dual.w)
            gap = problem.certificate(point, dual).relative_gap
            for region in REGIONS:
                ratio, share = measure(problem, point, dual, region)
                print(f"{gap:12.1e} {region:>10} {ratio:9.2f} {share:8.3f}")
    return 0


def measure(problem, point, dual, region, repeats: int = 7) -> tuple[float, float]:
    """Median ratio of screening to one product, timed in turns."""
    ratios = []
    for _ in range(repeats):
        start = time.perf_counter()
        problem.rows.X @ point.w
        middle = time.perf_counter()
        partition = screen_points(problem, point, dual, region=region)
        ratios.append((time.perf_counter() - middle) / (middle - start))
    return float(np.median(ratios)), partition.share


if __name__ == "__main__":
    sys.exit(main())
