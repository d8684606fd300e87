"""What a proof of the choice of C costs: processor time, and problems solved.

Five folds, C from 1e-3 to 100: `RobustLinearSVCCV(prove=...)` without the last fit, and
the points of complete paths. `python -m benchmarks.choice_proof --store` writes
`results/choice_proof.md`.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

from sklearn.datasets import load_digits

from wideberth import RobustLinearSVCCV, path
from wideberth.datasets import load_breast_cancer, load_spambase, paper_preprocess

RESULTS = Path(__file__).with_name("results") / "choice_proof.md"
RANGE = (1e-3, 100.0)


def tables() -> dict:
    """Tables by name: X and y."""
    cancer, spam, digits = load_breast_cancer(), load_spambase(), load_digits()
    return {
        "breast_cancer": (paper_preprocess("breast_cancer", cancer[0]), cancer[1]),
        "spambase": (paper_preprocess("spambase", spam[0]), spam[1]),
        "digits": (digits.data / 16, digits.target),
    }


#: Table, radius, whether b is free, share of the rows to be proven within.
CASES = [
    ("breast_cancer", 0.02, False, 0.002),
    ("breast_cancer", 0.02, True, 0.002),
    ("spambase", 0.02, False, 0.002),
    ("spambase", 0.02, True, 0.002),
    ("digits", 0.0, False, 0.005),
]


def prove(X, y, radius: float, intercept: bool, within: float) -> dict:
    """One search, on one thread."""
    options = {"refit": False}
    started = time.process_time()
    search = RobustLinearSVCCV(
        RANGE,
        [radius],
        fit_intercept=intercept,
        prove=within,
        cv=5,
        solver_options=options,
    ).fit(X, y)
    seconds, choice = time.process_time() - started, search.choice_
    binary = 1 if len(search.classes_) == 2 else len(search.classes_)
    problems = len(choice.Cs) * search.n_splits_ * binary
    return {
        "seconds": round(seconds, 2),
        "problems": problems,
        "values_of_C": len(choice.Cs),
        "C": choice.C,
        "error": choice.error,
        "lower_bound": choice.lower_bound,
        "proven": choice.proven,
    }


def main() -> None:
    """Run all cases, print them, and store them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", action="store_true", help="write the results file")
    options = parser.parse_args()
    data, found = tables(), []
    for name, radius, intercept, within in CASES:
        case = {"table": name, "radius": radius, "intercept": intercept}
        case |= {"within": within} | prove(*data[name], radius, intercept, within)
        print(case, flush=True)
        found.append(case)
    points = {}
    for radius in (0.0, 0.02):
        for intercept in (False, True):
            models = path(
                *data["spambase"],
                Cs=RANGE,
                radii=radius,
                complete=1e-3,
                fit_intercept=intercept,
            )
            key = f"radius {radius:g}, {'free b' if intercept else 'no b'}"
            points[key] = len(models)
    print(points)
    if options.store:
        RESULTS.write_text(_page(found, points), "utf-8")


def _page(found: list[dict], points: dict[str, int]) -> str:
    """The results as Markdown."""
    lines = [
        "# What a proof of the choice costs",
        "",
        "`python -m benchmarks.choice_proof --store`, one thread,",
        f"{platform.machine()}, Python {platform.python_version()}. Five folds, C from",
        "0.001 to 100.",
        "",
        "| table | radius | b | within | processor time | values of C | problems "
        "solved | error | proven: none below |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in found:
        cells = [
            case["table"],
            f"{case['radius']:g}",
            "free" if case["intercept"] else "none",
            f"{100 * case['within']:g} %",
            f"{case['seconds']:.2f} s",
            f"{case['values_of_C']}",
            f"{case['problems']}",
            f"{case['error']:.5f}",
            f"{case['lower_bound']:.5f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "Points of a complete path on Spambase, gap 1e-3, the same range:",
        "",
    ]
    lines += [f"* {name}: {count}" for name, count in points.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
