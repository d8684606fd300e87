"""Quantile regression beside other solvers: `python -m benchmarks.quantiles`.

½‖w‖² + CΣ pinball(r_i), the intercept a feature like others, as LIBLINEAR has it. Each
solver is timed at its loosest tolerance at which its objective is within 10⁻⁴ or 10⁻⁶
of the optimum. `LinearSVR(epsilon=0)` knows the median alone; ReHLine is left out where
it is not installed. With an L1 penalty scikit-learn's `QuantileRegressor` (HiGHS) and
ours, within 10⁻⁴ of its objective. Processor time, medians; some ten minutes, most of
them of the others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import QuantileRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

from benchmarks.bench.report import Report
from wideberth import solve

#: Tolerances of all solvers, from loose to tight.
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
#: Seconds after which a solver is not asked for more digits.
PATIENCE = 10.0
Fit = Callable[[np.ndarray, np.ndarray, float, float, float], np.ndarray]


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Rows with a column of ones, and targets of about unit size."""
    X, t = load_diabetes(return_X_y=True)
    found = [("diabetes", StandardScaler().fit_transform(X), (t - t.mean()) / t.std())]
    rng = np.random.default_rng(0)
    for n, d in ((20_000, 8), (200_000, 50)):
        X = rng.normal(size=(n, d))
        t = X @ rng.normal(size=d) + 0.5 * rng.standard_t(3, size=n)
        found.append((f"{n}×{d}", X, t))
    for name, X, t in found:
        yield name, np.column_stack([X, np.ones(len(t))]), t


def ours(X, t, C, tau, tol) -> np.ndarray:
    stated = {"C": C, "loss": "quantile", "quantile": tau, "fit_intercept": False}
    return solve(X, t, **stated, tol=tol, quiet=True).w


def linear_svr(X, t, C, tau, tol) -> np.ndarray:
    if tau != 0.5:
        raise NotImplementedError
    how = {"C": C / 2, "epsilon": 0, "tol": tol, "max_iter": 10_000}
    return LinearSVR(**how, fit_intercept=False).fit(X, t).coef_


def rehline(X, t, C, tau, tol) -> np.ndarray:
    from rehline import plqERM_Ridge

    loss = {"name": "QR", "qt": tau}
    model = plqERM_Ridge(loss=loss, C=C, tol=tol, max_iter=20_000)
    model.fit(X=X, y=t)
    return model.coef_


def objective(X, t, C, tau, w) -> float:
    r = t - X @ w
    return 0.5 * float(w @ w) + C * float(np.maximum(tau * r, (tau - 1) * r).sum())


def timed(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Median processor time of three calls, or of one that takes long."""
    seconds: list[float] = []
    for _ in range(3):
        started = time.process_time()
        found = work()
        seconds.append(time.process_time() - started)
        if seconds[0] > 1:
            break
    return float(np.median(seconds)), found


def seconds_to(fit: Fit, X, t, C, tau, best: float, share: float) -> float:
    """Time at the loosest tolerance that reaches a share of the optimum, or NaN."""
    for tol in TOLERANCES:
        try:
            seconds, w = timed(lambda tol=tol: fit(X, t, C, tau, tol))  # type: ignore[misc]
        except (ImportError, NotImplementedError):
            break
        if objective(X, t, C, tau, w) - best <= share * best:
            return seconds
        if seconds > PATIENCE:
            break
    return np.nan


def main() -> None:
    """Print the tables and save them."""
    warnings.simplefilter("ignore")
    report = Report()
    report.say("`python -m benchmarks.quantiles`: ms of ours, others as multiples.\n")
    report.say("| data | C | τ | to | ours | LinearSVR | ReHLine |\n|" + "---|" * 7)
    for name, X, t in tables():
        for C in (0.01, 1.0):
            for tau in (0.5, 0.1, 0.9):
                best = objective(X, t, C, tau, ours(X, t, C, tau, 1e-9))
                for share in (1e-4, 1e-6):
                    asked = X, t, C, tau, best, share
                    own = seconds_to(ours, *asked)
                    others = [seconds_to(fit, *asked) for fit in (linear_svr, rehline)]
                    cells = [f"{s / own:.2f}" if s == s else "–" for s in others]
                    at = f"{name} | {C:g} | {tau} | {share:g} | {1e3 * own:.2f}"
                    report.say(f"| {at} | {' | '.join(cells)} |")
    report.say(f"\n{lasso()}")
    report.save("quantiles.md")


def lasso(n=5_000, d=30, price=0.02, ridge=1e4) -> str:
    """The L1 penalty: QuantileRegressor beside ours with a small ridge."""
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d) * (rng.random(d) < 0.5)
    t = X @ w + 0.5 * rng.standard_t(3, size=n)

    def theirs():
        model = QuantileRegressor(quantile=0.5, alpha=price).fit(X, t)
        return np.append(model.coef_, model.intercept_)

    def mine():
        stated = {"C": ridge / n, "noise": "linf", "norm_penalty": ridge * price}
        found = solve(X, t, loss="quantile", **stated, tol=1e-5)
        return np.append(found.w, found.b)

    def value(w):
        return (
            0.5 * np.abs(t - X @ w[:-1] - w[-1]).mean() + price * np.abs(w[:-1]).sum()
        )

    (slow, there), (quick, here) = timed(theirs), timed(mine)
    off = value(here) / value(there) - 1
    return (
        f"L1 penalty, {n}×{d}: QuantileRegressor ÷ ours {slow / quick:.0f}, objective "
        f"{off:+.1e} of its own."
    )


if __name__ == "__main__":
    main()
