"""Box noise, norm penalties and features proven zero: `python -m benchmarks.sparse`.

Against Clarabel through CVXPY as people call it, on the paper's configurations with box
noise of the same radii; tall data; text against ReHLine's elastic net at equal
suboptimality, where that is installed; paths over penalties on wide data; and how many
features that are zero are proven so. One thread, medians of repeats.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial

import numpy as np

from benchmarks.bench.report import Report
from benchmarks.datasets import covtype, news20
from benchmarks.error_bars import timed
from wideberth import path, solve
from wideberth.problem import Pair, Problem
from wideberth.screening.features import screen_features
from wideberth_paper import configurations, load


def clarabel(X, y, C: float, radius: float) -> float:
    """The objective; y is −1 or +1, b is free."""
    import cvxpy as cp

    w, b = cp.Variable(X.shape[1]), cp.Variable()
    hinge = cp.pos(1 - cp.multiply(y, X @ w + b) + radius * cp.norm1(w))
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(hinge)))
    program.solve(solver="CLARABEL")
    return float(program.value)


def the_papers(report: Report, repeats: int) -> None:
    """The 32 configurations; ratios are those of solver="auto"."""
    report.say("| data | C | radius | auto | newton | CVXPY, ms | ratio | objective |")
    report.say("|---|---|---|---|---|---|---|---|")
    ratios = []
    clarabel(np.eye(2), np.array([1.0, -1.0]), 1.0, 0.0)  # loads CVXPY
    for name, C, radius in configurations():
        X, y = load(name)
        given = {"C": C, "radius": radius, "noise": "linf", "quiet": True, "tol": 1e-6}
        value = solve(X, y, **given).primal
        ours = [
            timed(partial(solve, X, y, solver=solver, **given), repeats)
            for solver in ("auto", "newton")
        ]
        started = time.process_time()
        objective = clarabel(X, y, C, radius)
        theirs = time.process_time() - started
        ratios.append(theirs / ours[0])
        report.say(
            f"| {name} | {C:g} | {radius:g} | {1e3 * ours[0]:.1f} | "
            f"{1e3 * ours[1]:.1f} | {1e3 * theirs:.0f} | {ratios[-1]:.0f} | "
            f"{value / objective - 1:+.0e} |"
        )
    report.say()
    report.say(f"Ratios: least {min(ratios):.1f}, median {np.median(ratios):.1f}.")


def tall(report: Report, repeats: int) -> None:
    """10 000×50 at random, and covtype; beside one product X @ w, and ℓ2 noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 50))
    scores = X @ rng.normal(size=50) + 3 * rng.normal(size=10_000)
    cases = [("10 000×50", X, np.sign(scores), 1e-6)]
    cases.append(("covtype", *covtype.load(), 1e-4))
    report.say()
    report.say("| data | noise | seconds | products X @ w | features |")
    report.say("|---|---|---|---|---|")
    for name, X, y, tol in cases:
        product = timed(lambda: X @ np.ones(X.shape[1]), 5)  # noqa: B023
        for noise in ("linf", "l1", "l2"):
            options = {"C": 1.0, "radius": 0.05, "noise": noise, "tol": tol}
            found = solve(X, y, quiet=True, random_state=0, **options)
            seconds = timed(
                lambda: solve(X, y, quiet=True, random_state=0, **options),  # noqa: B023
                repeats,
            )
            report.say(
                f"| {name} | {noise} | {seconds:.3f} | {seconds / product:.0f} | "
                f"{np.count_nonzero(found.w)} of {X.shape[1]} |"
            )


def largest_penalty(X, y, C: float) -> float:
    """The s₀ from which on w = 0 without an intercept."""
    problem = Problem.from_data(X, y, C=C, noise="linf")
    return problem.noise.shape.dual_norm(problem.rows.combine(problem.weights))


def objective(X, y, w, C: float, s: float) -> float:
    """½‖w‖² + s‖w‖₁ + CΣ[1 − y⟨w,x⟩]_+."""
    hinge = np.maximum(1 - y * (X @ w), 0).sum()
    return float(0.5 * w @ w + s * np.abs(w).sum() + C * hinge)


def rehline(X, y, C: float, s: float, tol: float, most: int) -> np.ndarray:
    """ReHLine's weights of the same problem; it states it divided by 1 + s."""
    from rehline import plqERM_ElasticNet

    model = plqERM_ElasticNet(
        loss={"name": "svm"}, C=C / (1 + s), l1_ratio=s / (1 + s), tol=tol
    )
    model.set_params(max_iter=most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y).coef_


def text(report: Report, repeats: int) -> None:
    """News20 without an intercept to 1e-4, and ReHLine to what was reached."""
    X, y = news20.load()
    largest = largest_penalty(X, y, 1.0)
    report.say()
    report.say("| penalty ÷ largest | features | ours, s | gap | ReHLine, s | gap |")
    report.say("|---|---|---|---|---|---|")
    for share in (0.1, 0.05, 0.02):
        s = share * largest
        options = {"noise": "linf", "norm_penalty": s, "fit_intercept": False}
        found = solve(X, y, tol=1e-4, **options)
        seconds = timed(lambda: solve(X, y, tol=1e-4, **options), repeats)  # noqa: B023
        best = solve(X, y, tol=1e-7, **options).dual
        other, gap = "not installed", ""
        try:
            for tol in (1e-1, 1e-2, 1e-3, 1e-4):
                started = time.process_time()
                w = rehline(X, y, 1.0, s, tol, 100_000)
                taken = time.process_time() - started
                reached = objective(X, y, w, 1.0, s) / best - 1
                other, gap = f"{taken:.2f}", f"{reached:.0e}"
                if reached <= max(found.primal / best - 1, 1e-4) or taken > 120:
                    break
        except ImportError:
            pass
        report.say(
            f"| {share:g} | {np.count_nonzero(found.w)} | {seconds:.3f} | "
            f"{found.primal / best - 1:.0e} | {other} | {gap} |"
        )


def wide_data(n: int, d: int, seed: int = 0):
    """Ten features of d tell the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, :10].sum(axis=1) + rng.normal(size=n) > 0, 1, -1)


def wide(report: Report, repeats: int) -> None:
    """Paths of 20 penalties, with feature screening and without any."""
    report.say()
    report.say("| rows × features | seconds per point | on ÷ off | features kept |")
    report.say("|---|---|---|---|")
    for n, d in ((100, 1000), (500, 5000)):
        X, y = wide_data(n, d)
        penalties = largest_penalty(X, y, 1.0) * np.geomspace(0.05, 0.95, 20)

        def run(screening, X=X, y=y, penalties=penalties):
            options = {"noise": "linf", "norm_penalties": penalties, "quiet": True}
            return path(X, y, Cs=[1.0], screening=screening, **options)

        seconds = {how: timed(lambda: run(how), repeats) for how in ("ellipsoid", None)}  # noqa: B023
        kept = [np.count_nonzero(w) for w in run("ellipsoid").coefs[:, 0]]
        on, off = seconds["ellipsoid"], seconds[None]
        report.say(
            f"| {n}×{d} | {on / 20:.4f} | {on / off:.2f} | {min(kept)} to {max(kept)} |"
        )


def at_gap(problem: Problem, found, target: float) -> Pair:
    """A pair between a solution and w = 0, whose relative gap is about the target."""
    low, high = 0.0, 1.0
    for _ in range(60):
        t = 0.5 * (low + high)
        pair = Pair(
            problem.at((1 - t) * found.w, found.b),
            problem.dual_at((1 - t) * found.alpha),
        )
        above = pair.gap > target * pair.point.value
        low, high = (low, t) if above else (t, high)
    return pair


def proven(report: Report) -> None:
    """The share of features of weight zero that are proven so, by the gap."""
    report.say()
    report.say("| data | noise, penalty | zero | proven at 1e-3 | at 1e-6 |")
    report.say("|---|---|---|---|---|")
    X, y = load("breast_cancer")
    Z, z = load("spambase")
    V, v = wide_data(100, 1000)
    cases = [("breast cancer", X, y, {"radius": r}) for r in (0.05, 0.1, 0.3)]
    cases += [("spambase", Z, z, {"radius": r}) for r in (0.05, 0.1)]
    for share in (0.3, 0.1):
        s = share * largest_penalty(X, y, 1.0)
        cases.append(("breast cancer", X, y, {"norm_penalty": s}))
        s = share * largest_penalty(V, v, 1.0)
        cases.append(("100×1000", V, v, {"norm_penalty": s}))
    for name, X, y, given in cases:
        exact = solve(X, y, noise="linf", tol=1e-9, quiet=True, **given)
        problem = Problem.from_data(X, y, noise="linf", intercept=0.0, **given)
        zero = exact.w == 0
        shares = []
        for target in (1e-3, 1e-6):
            removed = screen_features(problem, at_gap(problem, exact, target))
            shares.append((removed & zero).sum() / max(zero.sum(), 1))
        said = ", ".join(f"{key} {value:.3g}" for key, value in given.items())
        report.say(
            f"| {name} | {said} | {zero.sum()} of {zero.size} | {shares[0]:.2f} | "
            f"{shares[1]:.2f} |"
        )


PARTS = {
    "papers": the_papers,
    "tall": tall,
    "text": text,
    "wide": wide,
    "proven": lambda report, repeats: proven(report),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    report = Report()
    report.say("# Box noise, norm penalties, features proven zero")
    report.say()
    for name in given.parts:
        PARTS[name](report, given.repeats)
    if set(given.parts) == set(PARTS):
        report.save("sparse.md")


if __name__ == "__main__":
    main()
