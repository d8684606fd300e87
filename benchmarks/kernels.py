"""Curved boundaries beside kernel machines: `python -m benchmarks.kernels [part ...]`.

Parts: `tables` (accuracy and time of `RobustKernelSVC` beside `SVC(kernel="rbf")` and
`Nystroem` + `LinearSVC` at equal C and gamma, on standardised tables, four folds),
`landmarks` (rules to draw them), `attacks` (the shortest move that a search finds to
change a class, beside the certified radius) and `covtype` (500 000 rows, 500 landmarks,
from memory and from a Parquet file). All by default. One thread, processor time. Tables
that are not there are left out, with the reason.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.bench.child import peak_memory
from benchmarks.bench.clock import timed
from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report
from benchmarks.datasets import Missing, covtype, shared
from wideberth import RobustKernelSVC, RobustLinearSVC, make_robust_pipeline, open_data
from wideberth.datasets import load_spambase
from wideberth.estimators.kernel_svc import landmark_order

#: Values of C that are searched.
CS = np.geomspace(0.1, 300, 8).tolist()
#: Rows and landmarks of the large table.
ROWS, LANDMARKS, MEMORY = 500_000, 500, "3.8GB"


def galaxies():
    """Brightness in six bands, where all are known; nearer or farther than most."""
    sky = np.genfromtxt(shared("lsst_photometry.csv.gz"), delimiter=",", names=True)
    names = [name for name in sky.dtype.names if "err" not in name]
    far = next(name for name in names if "redshift" in name)
    X = np.column_stack([sky[name] for name in names if name != far])
    complete = np.isfinite(X).all(axis=1)
    return X[complete], (sky[far] > np.median(sky[far]))[complete]


def made():
    """Ten features, two classes of four clusters each, a tenth of labels at random."""
    shape = {"n_features": 10, "n_informative": 6, "n_clusters_per_class": 4}
    return make_classification(20_000, **shape, flip_y=0.1, random_state=0)


TABLES = {
    "digits": lambda: load_digits(return_X_y=True),
    "Spambase": load_spambase,
    "galaxies": galaxies,
    "made, 20 000×10": made,
}


def folds(X, y) -> Iterator[tuple]:
    """Four of them: rows and labels to train on, and left out; standardised."""
    splitter = StratifiedKFold(4, shuffle=True, random_state=0)
    for rows, rest in splitter.split(X, y):
        scaler = StandardScaler().fit(X[rows])
        yield scaler.transform(X[rows]), y[rows], scaler.transform(X[rest]), y[rest]


def processor(call: Callable) -> tuple[float, object]:
    """Seconds of processor time, and what the call returned."""
    return timed(call, time.process_time)


def tables(report: Report) -> None:
    """Accuracy at equal C and gamma="scale"; time, of one fit and of a search."""
    head = "| table | C | landmarks | SVC, % | RobustKernelSVC, % | difference, points "
    head += "| Nystroem + LinearSVC, % | SVC, s | one fit ÷ SVC | search over 8 C ÷ SVC"
    report.say(head + " | Nystroem + LinearSVC ÷ SVC |")
    report.say("|---|" + "---|" * 10)
    for name, load in TABLES.items():
        try:
            X, y = load()
        except Missing as why:
            report.say(f"| {name} | {why} |" + " |" * 9)
            continue
        for C in (1.0, 10.0):
            report.say(f"| {name} | {C:g} | {compared(X, y, C)} |")


def compared(X, y, C: float) -> str:
    """Cells of one line."""
    scores, seconds, sizes = [], [], []
    for A, a, B, b in folds(X, y):
        exact = SVC(C=C)
        curved = RobustKernelSVC(C=C)
        took = [processor(partial(model.fit, A, a))[0] for model in (exact, curved)]
        took.append(processor(partial(RobustKernelSVC(C=CS).fit, A, a))[0])
        sizes.append(curved.n_components_)
        step = Nystroem(gamma=curved.gamma_, n_components=sizes[-1], random_state=0)
        linear = LinearSVC(C=C, loss="hinge", max_iter=20_000, random_state=0)
        peer = make_pipeline(step, linear)
        took.append(processor(partial(peer.fit, A, a))[0])
        scores.append([100 * model.score(B, b) for model in (exact, curved, peer)])
        seconds.append(took)
    (svc, ours, peer), took = np.mean(scores, axis=0), np.median(seconds, axis=0)
    cells = [f"{sorted(set(sizes))}".strip("[]"), f"{svc:.2f}", f"{ours:.2f}"]
    cells += [f"{ours - svc:+.2f}", f"{peer:.2f}", f"{took[0]:.2f}"]
    return " | ".join(cells + [f"{other / took[0]:.2f}" for other in took[1:]])


# -- rules for landmarks ---------------------------------------------------------------


def uniform(X, gamma: float, m: int, rng) -> np.ndarray:
    """Rows with equal chances."""
    return rng.permutation(len(X))[:m]


def spread(X, gamma: float, m: int, rng) -> np.ndarray:
    """k-means++ behind the kernel, as `RobustKernelSVC` has it."""
    order = landmark_order(X, gamma, int(rng.integers(1 << 30)))
    return np.array([*islice(order, m)])


def leverage(X, gamma: float, m: int, rng) -> np.ndarray:
    """Chances in proportion to the ridge leverage scores, diag K(K + I)⁻¹."""
    K = rbf_kernel(X, gamma=gamma)
    scores = 1 - np.diag(np.linalg.inv(K + np.eye(len(X))))
    return rng.choice(len(X), m, replace=False, p=scores / scores.sum())


RULES = {"uniform": uniform, "k-means++": spread, "ridge leverage scores": leverage}


def landmarks(report: Report, seeds: int = 5) -> None:
    """Accuracy with 128 landmarks drawn from at most 3000 rows by each rule, C = 10."""
    report.say("| table | gamma × features | " + " | ".join(RULES) + " | SVC |")
    report.say("|---|---|" + "---|" * (len(RULES) + 1))
    for name, load in TABLES.items():
        try:
            X, y = load()
        except Missing as why:
            report.say(f"| {name} | {why} |" + " |" * (len(RULES) + 1))
            continue
        A, a, B, b = next(folds(X, y))
        rows = np.random.default_rng(0).permutation(len(a))[:3000]
        A, a = A[rows], a[rows]
        for factor in (1.0, 5.0):
            gamma, cells = factor / X.shape[1], []
            for rule in RULES.values():
                given = A, a, B, b, gamma, rule
                found = [with_rule(*given, seed) for seed in range(seeds)]
                error = np.std(found, ddof=1) / np.sqrt(seeds)
                cells.append(f"{np.mean(found):.2f} ± {error:.2f}")
            exact = 100 * SVC(C=10, gamma=gamma).fit(A, a).score(B, b)
            cells = " | ".join(cells)
            report.say(f"| {name} | {factor:g} | {cells} | {exact:.2f} |")


def with_rule(A, a, B, b, gamma: float, rule: Callable, seed: int) -> float:
    """Accuracy of a model on landmarks drawn by a rule."""
    chosen = A[rule(A, gamma, 128, np.random.default_rng(seed))]
    step = Nystroem(gamma=gamma, n_components=len(chosen), random_state=0).fit(chosen)
    model = RobustLinearSVC(C=10, tol=1e-3).fit(step.transform(A), a)
    return 100 * model.score(step.transform(B), b)


# -- certificates beside attacks -------------------------------------------------------


def attacks(report: Report) -> None:
    """Breast Cancer, 200 landmarks, C = 1, trained with radius 0.3."""
    X, y = load_breast_cancer(return_X_y=True)
    train, test, y_train, _ = train_test_split(X, y, test_size=189, random_state=0)
    report.say(
        "| gamma | median certified radius | shortest move ÷ certified: median |"
    )
    report.say("|---|---|---|")
    for width in (30, 120):
        model = make_robust_pipeline(
            StandardScaler(),
            RobustKernelSVC(
                radius=0.3,
                noise=train.std(axis=0),
                gamma=1 / width,
                n_components=200,
            ),
        ).fit(train, y_train)
        certified = model.certified_radius(test)
        ratio = shortest(model, test, certified) / certified
        report.say(
            f"| 1/{width} | {np.median(certified):.3f} | {np.median(ratio):.2f} |"
        )


def shortest(model, X, certified: np.ndarray) -> np.ndarray:
    """The size of the shortest move of each row that a search finds to change a class.

    Worst moves of many sizes, each shortened by bisection as far as it still does.
    """
    found, labels = np.full(len(X), np.inf), model.predict(X)
    for factor in np.geomspace(1, 6, 25):
        sizes = factor * certified
        moves = model.worst_case(X, labels, radius=sizes)
        low, high = np.zeros(len(X)), np.ones(len(X))
        changes = model.predict(X + moves) != labels
        for _ in range(40):
            middle = (low + high) / 2
            still = model.predict(X + middle[:, None] * moves) != labels
            low, high = np.where(still, low, middle), np.where(still, middle, high)
        found = np.minimum(found, np.where(changes, high * sizes, np.inf))
    return found


# -- many rows -------------------------------------------------------------------------


def large(report: Report) -> None:
    """Class 2 of covtype against the rest, standardised, in a process for each road."""
    try:
        X, y = covtype.load()
    except Missing as why:
        report.say(f"Left out: {why}.")
        return
    order = np.random.default_rng(0).permutation(len(y))
    with tempfile.TemporaryDirectory(prefix="wideberth-bench-") as name:
        write(Path(name) / "train.parquet", X[order[:ROWS]], y[order[:ROWS]])
        write(Path(name) / "test.parquet", X[order[ROWS:]], y[order[ROWS:]])
        del X, y
        head = "| from | processor, s | wall, s | most memory, GB | relative gap "
        report.say(head + "| accuracy |")
        report.say("|---|---|---|---|---|---|")
        for road in ("memory", "file"):
            command = [sys.executable, "-m", "benchmarks.kernels"]
            command += ["--road", road, "--folder", name]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            report.say(done.stdout.splitlines()[-1])


def write(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    """A table of features and labels."""
    import pandas

    names = [f"x{k}" for k in range(X.shape[1])]
    pandas.DataFrame(X, columns=names).assign(y=y).to_parquet(path)


def walk(road: str, folder: Path) -> None:
    """Train along one road in this process; print a line of the table."""
    given = {"C": covtype.C, "radius": covtype.RADIUS, "n_components": LANDMARKS}
    model, path = RobustKernelSVC(**given), folder / "train.parquet"
    if road == "memory":
        import pandas

        table = pandas.read_parquet(path)
        X, y = table.drop(columns="y").to_numpy(), table["y"].to_numpy()
        del table
        fit = partial(model.fit, X, y)
    else:
        fit = partial(model.fit, open_data(path, "y", memory=MEMORY))
    wall = time.perf_counter()
    seconds, _ = processor(fit)
    wall, most = time.perf_counter() - wall, peak_memory() / 1e9
    accuracy = model.score(open_data(folder / "test.parquet", "y"))
    cells = f"{seconds:.0f} | {wall:.0f} | {most:.2f} | {model.relative_gap_.max():.1e}"
    print(f"| {road} | {cells} | {accuracy:.4f} |")


PARTS = {"tables": tables, "landmarks": landmarks, "attacks": attacks, "covtype": large}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--road", choices=("memory", "file"))
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.road:
        walk(given.road, given.folder)
        return
    report = Report()
    report.say("# Curved boundaries")
    report.say()
    report.say(describe())
    with threadpool_limits(1):
        for name in given.parts or PARTS:
            report.say()
            report.say(f"## {name}")
            report.say()
            report.say(PARTS[name].__doc__)
            report.say()
            PARTS[name](report)
    if not given.parts:
        report.save("kernels.md")


if __name__ == "__main__":
    main()
