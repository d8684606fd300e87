"""Hold the ramp against its definition on random problems; `make ramp` runs it all.

For every problem, of any shape of noise, intercept, weights, penalty and start:

* monotone, finite: R never rises from one convex problem to the next;
* traced: no point on the way is below the last;
* objective: R as reported is R by its definition;
* majorant, fixed: the certified value is R, or above it where the samples left out did
  not repeat;
* certificate: both of its values are on their side of the optimum of the last convex
  problem, solved anew without it;
* converged, ended: it ends by itself, within its tolerance.

Then tiny problems, whose 2ⁿ convex problems are all solved: how often their global
minimum is reached is counted.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from support.ramp import exhaustive_minimum, judged, random_options, wrong_labels
from tools.stored import store
from wideberth import solve

_TINY = 8


def reached(seed: int) -> dict[int, float]:
    """R of one, two and three starts over the global minimum."""
    X, y, _ = wrong_labels(seed, n=_TINY, d=2)
    options = random_options(seed, _TINY, 2)
    least = exhaustive_minimum(X, y, options)
    ratios = {}
    for starts in (1, 2, 3):
        options["starts"] = starts
        found = solve(X, y, **options, tol=1e-8, random_state=0, quiet=True)
        ratios[starts] = found.descent.objectives[-1] / least
    return ratios


def main() -> int:
    """Run the campaign; the exit status says whether all claims held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--tiny", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", action="store_true", help="for the pages")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failures: Counter = Counter()
    seeds = range(options.seed, options.seed + options.problems)
    with ProcessPoolExecutor(options.jobs) as pool:
        for seed, claims in zip(
            seeds, pool.map(judged, seeds, chunksize=8), strict=True
        ):
            wrong = [name for name, true in claims.items() if not true]
            failures.update(wrong)
            if wrong:
                print(f"problem {seed}: not {', '.join(wrong)}")
        print(f"{options.problems} problems: {sum(failures.values())} claims failed")
        if options.store:
            rows = [["random problems", options.problems, sum(failures.values())]]
            store("ramp", ["what", "problems", "claims failed"], rows)
        tiny = range(options.seed, options.seed + options.tiny)
        ratios = list(pool.map(reached, tiny, chunksize=2))
    for starts in (1, 2, 3):
        found = np.array([each[starts] for each in ratios])
        share = np.mean(found <= 1 + 1e-5)
        print(
            f"{starts} starts: the global minimum in {share:.1%} of {options.tiny}, "
            f"R over it {np.median(found):.4f} in the median, {found.max():.3f} at most"
        )
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
