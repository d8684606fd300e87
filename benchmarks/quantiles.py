"""Quantile regression beside other solvers: `python -m benchmarks.quantiles`.

½‖w‖² + CΣ pinball(r_i), the intercept a feature like others, as LIBLINEAR has it. Each
solver is timed at its loosest tolerance at which its objective is within 10⁻⁴ or 10⁻⁶
of the optimum. `LinearSVR(epsilon=0)` knows the median alone; ReHLine is left out where
it is not installed. With an L1 penalty scikit-learn's `QuantileRegressor` (HiGHS) and
ours, within 10⁻⁴ of its objective; error bars beside Clarabel; passes and reads of
large data. Processor time, medians; some ten minutes, most of them of the others.
Galaxies are left out where `WIDEBERTH_DATA` has none.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import QuantileRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

from benchmarks.bench.report import Report
from benchmarks.datasets import Missing, shared, wide
from wideberth import solve

#: Tolerances of all solvers, from loose to tight.
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
#: Seconds after which a solver is not asked for more digits.
PATIENCE = 10.0
#: Seconds that repeats of one call may take.
_TURN = 0.3
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
    with suppress(Missing):
        found.append(galaxies())
    for name, X, t in found:
        yield name, np.column_stack([X, np.ones(len(t))]), t
    X, _ = wide.load(8_000, 20_000, 50)
    t = X @ rng.normal(size=X.shape[1])
    yield "text, 8000×20000", X, t / t.std() + 0.5 * rng.standard_t(3, size=len(t))


def galaxies() -> tuple[str, np.ndarray, np.ndarray]:
    """Brightness in six bands, where all are known, and redshifts."""
    sky = np.genfromtxt(shared("lsst_photometry.csv.gz"), delimiter=",", names=True)
    names = [name for name in sky.dtype.names if "err" not in name]
    seen = np.column_stack([sky[name] for name in names])
    seen = seen[np.isfinite(seen).all(axis=1)]
    last = names.index("redshift")
    X, t = StandardScaler().fit_transform(np.delete(seen, last, axis=1)), seen[:, last]
    return "galaxies", X, (t - t.mean()) / t.std()


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
    """Median processor time of fifteen calls, or of one that takes long."""
    seconds: list[float] = []
    for _ in range(15):
        started = time.process_time()
        found = work()
        seconds.append(time.process_time() - started)
        if seconds[0] > 1 or sum(seconds) > _TURN:
            break
    return float(np.median(seconds)), found


def seconds_to(fit: Fit, X, t, C, tau, best: float, share: float) -> float:
    """Time at the loosest tolerance that reaches a share of the optimum, or NaN."""
    for tol in TOLERANCES:
        try:
            seconds, w = timed(lambda tol=tol: fit(X, t, C, tau, tol))  # type: ignore[misc]
        except (ImportError, NotImplementedError, TypeError, ValueError):
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
    for line in (lasso, cones, out_of_core, tall):
        report.say(f"\n{line()}")
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


def cones() -> str:
    """Error bars of every cell: Clarabel with a cone for each row beside ours."""
    import cvxpy as cp

    X = StandardScaler().fit_transform(load_breast_cancer().data)
    rng = np.random.default_rng(2)
    t = X @ rng.normal(size=X.shape[1]) + rng.standard_t(3, size=len(X))
    E, C = 0.1 * rng.exponential(size=X.shape), 0.1
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    noise = cp.norm(cp.multiply(E, cp.reshape(w, (1, X.shape[1]), order="C")), axis=1)
    loss = 0.5 * C * cp.sum(cp.abs(t - X @ w - b) + noise)
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + loss))

    def theirs():
        program.solve(solver="CLARABEL")
        return w.value

    def mine():
        return solve(X, t, C=C, X_err=E, loss="quantile", tol=1e-6).w

    (whole, _), (quick, _) = timed(theirs), timed(mine)
    return f"Error bars, 569×30: CVXPY with Clarabel ÷ ours {whole / quick:.0f}."


def tall(n=1_000_000, d=50) -> str:
    """Passes over many rows, to 10⁻⁶."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d))
    t = X @ rng.normal(size=d) + 0.5 * rng.standard_t(3, size=n)
    found = solve(X, t, C=0.01, loss="quantile", tol=1e-6)
    return f"{n}×{d} to 1e-6: {found.passes:.1f} passes."


def out_of_core(n=5_000_000, d=25, block=500_000) -> str:
    """Reads of files that memory does not hold."""
    rng = np.random.default_rng(4)
    normal = rng.normal(size=d)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [
            np.lib.format.open_memmap(folder / file, "w+", np.float32, shape)
            for file, shape in (("X.npy", (n, d)), ("t.npy", (n,)))
        ]
        for start in range(0, n, block):
            X = rng.standard_normal((min(block, n - start), d), dtype=np.float32)
            files[0][start : start + block] = X
            t = X @ normal + 0.5 * rng.standard_t(3, size=len(X))
            files[1][start : start + block] = t
        for file in files:
            file.flush()
        where = folder / "X.npy", folder / "t.npy"
        found = solve(*where, C=0.01, loss="quantile", tol=1e-4, memory="1GB")
    return f"{n}×{d} out of core to 1e-4: {found.passes:.0f} reads."


if __name__ == "__main__":
    main()
