"""Many at once: processes, threads, jobs within jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trouble import TESTS, check, child, survivors

#: Fits of several kinds, and a digest of each answer.
FITS_SCRIPT = """
import hashlib, multiprocessing, os, sys, threading, warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import numpy as np, scipy.sparse as sp
from wideberth import RobustLinearSVC, RobustLinearSVCCV, path, solve

rng = np.random.default_rng(0)
X = rng.normal(size=(900, 12))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=900) > 0, 1, -1)
several = np.digitize(X[:, 0] + rng.normal(size=900), [-1, 0, 1])
thin = sp.csr_array(np.where(np.abs(X) > 1, X, 0))
narrow = X.astype(np.float32)
same = {"random_state": 0, "radius": 0.05}
steered = {"radius": 0.05, "solver_options": {"random_state": 0}}
FITS = {
    "newton": lambda: solve(X, y, **same).w,
    "coordinate": lambda: solve(thin, y, solver="coordinate", **same).w,
    "conic": lambda: solve(X[:80], y[:80], noise="linf", random_state=0).w,
    "float32": lambda: solve(narrow, y, fit_intercept=True, **same).w,
    "path": lambda: path(X, y, Cs=6, radii=[0, 0.1], random_state=0).coefs,
    "classes": lambda: RobustLinearSVC(**steered).fit(X, several).coef_,
    "search": lambda: RobustLinearSVCCV(Cs=4, cv=3, solver_options={"random_state": 0}).fit(X, y).coef_,
    "chunks": lambda: solve([(X[:300], y[:300]), (X[300:], y[300:])], random_state=0).w,
}

def answer(name):
    warnings.simplefilter("ignore")
    return hashlib.sha256(np.ascontiguousarray(FITS[name]()).tobytes()).hexdigest()
"""

_PROCESSES = (
    FITS_SCRIPT
    + """
if __name__ == "__main__":
    expected = {name: answer(name) for name in FITS}  # BLAS is running
    import fits_for_processes as module
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(2, context) as pool:
            found = dict(zip(FITS, pool.map(module.answer, FITS)))
        assert found == expected, (method, [n for n in FITS if found[n] != expected[n]])
    print(len(FITS))
"""
)

_THREADS = (
    FITS_SCRIPT
    + """
warnings.simplefilter("ignore")
expected = {name: answer(name) for name in FITS}
before = list(warnings.filters), X.tobytes(), thin.data.tobytes()
tries = int(sys.argv[1])
with ThreadPoolExecutor(4) as pool:
    for _ in range(tries):
        names = [name for name in FITS for _ in range(2)]
        found = list(pool.map(answer, names))
        wrong = [n for n, f in zip(names, found) if f != expected[n]]
        assert not wrong, wrong
assert X.tobytes() == before[1] and thin.data.tobytes() == before[2]
print(tries * len(names))
"""
)

_FILTERS = (
    FITS_SCRIPT
    + """
# Whoever sets filters within a thread must not be able to lose those of the program.
fits = ("search", "conic", "classes")
for name in fits:
    FITS[name]()

def filters():  # scikit-learn compiles the patterns of those it puts back
    text = lambda pattern: getattr(pattern, "pattern", pattern)
    return [(f[0], text(f[1]), f[2], text(f[3])) for f in warnings.filters]

before = filters(), warnings.showwarning
with ThreadPoolExecutor(4) as pool:
    for _ in range(int(sys.argv[1])):
        list(pool.map(lambda name: FITS[name](), fits * 4))
assert filters() == before[0], filters()
assert warnings.showwarning is before[1]
"""
)

_JOBS = (
    FITS_SCRIPT
    + """
import joblib
if __name__ == "__main__":
    classes, search = RobustLinearSVC(**steered), RobustLinearSVCCV(Cs=4, cv=3, solver_options={"random_state": 0})
    expected = classes.fit(X, several).coef_, search.fit(X, several).coef_
    count = 0
    for backend in ("loky", "threading", "multiprocessing"):
        with joblib.parallel_config(backend=backend):
            for jobs in (2, -1):
                found = (
                    RobustLinearSVC(**steered, n_jobs=jobs).fit(X, several).coef_,
                    RobustLinearSVCCV(Cs=4, cv=3, solver_options={"random_state": 0}, n_jobs=jobs).fit(X, several).coef_,
                )
                for ours, theirs in zip(found, expected):
                    assert ours.tobytes() == theirs.tobytes(), (backend, jobs)
                    count += 1
    print(count)
"""
)

_NESTED = (
    FITS_SCRIPT
    + """
import json, time
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info

def threads():
    return int(next(line for line in open("/proc/self/status") if line.startswith("Threads")).split()[1])

def score(model, X, y):
    pools = [pool["num_threads"] for pool in threadpool_info()]
    with open(f"{sys.argv[1]}/{os.getpid()}", "a") as file:
        file.write(json.dumps([max(pools), threads()]) + "\\n")
    return accuracy_score(y, model.predict(X))

if __name__ == "__main__":
    RobustLinearSVCCV(Cs=4, cv=4, n_jobs=2, scoring=score).fit(X, y)
    GridSearchCV(RobustLinearSVC(**steered), {"C": [0.1, 1, 10]}, cv=2, n_jobs=2, scoring=score).fit(X, several)
    peak, stop = [threads()], threading.Event()
    def watch():
        while not stop.is_set():
            peak.append(threads())
            time.sleep(0.001)
    watcher = threading.Thread(target=watch)
    watcher.start()
    RobustLinearSVC(**steered, n_jobs=2).fit(np.tile(X, (20, 1)), np.tile(several, 20))
    stop.set()
    watcher.join()
    print(json.dumps([max(peak) - peak[0] - 1, os.cpu_count()]))
"""
)


@check(tries=1)
def fork_spawn_and_forkserver(tries: int) -> str:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "fits_for_processes.py").write_text(_PROCESSES)
        script = f"import sys; sys.path.insert(0, {place!r}); import runpy; "
        script += (
            f"runpy.run_path({place + '/fits_for_processes.py'!r}, run_name='__main__')"
        )
        count = int(child(script))
    return f"{count} kinds of fits, 3 ways to start processes, bit-equal"


@check(tries=6)
def fits_in_threads(tries: int) -> str:
    count = int(child(_THREADS, tries))
    child(_FILTERS, tries)
    return f"{count} fits on shared data, four at a time, bit-equal to those in turn"


@check(tries=1)
def jobs_of_every_backend(tries: int) -> str:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "jobs.py"
        file.write_text(_JOBS)
        count = int(
            child(f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')")
        )
    return f"{count} fits by loky, threads and multiprocessing, bit-equal to one job"


@check(tries=1)
def jobs_within_jobs(tries: int) -> str:
    """BLAS threads times processes are no more than the cores."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "nested.py"
        file.write_text(_NESTED)
        os.mkdir(f"{place}/seen")
        command = [sys.executable, str(file), f"{place}/seen"]
        environment = {
            n: v for n, v in os.environ.items() if not n.endswith("_NUM_THREADS")
        }
        environment["PYTHONPATH"] = str(TESTS)
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        more, cores = json.loads(done.stdout)
        seen = [
            json.loads(line)
            for log in Path(f"{place}/seen").iterdir()
            for line in log.read_text().splitlines()
        ]
    most = max(pool for pool, _ in seen)
    assert most <= max(cores // 2, 1), (
        f"{most} threads of BLAS in each of 2 processes on {cores} cores"
    )
    # Two that work, three that hand out the work of joblib's pool.
    assert more <= 2 + 3, f"{more} more threads for n_jobs=2 on {cores} cores"
    return f"{most} BLAS thread in each of 2 workers on {cores} cores; n_jobs=2 adds {more} threads"


_REPRODUCE = """
import sys, json
from reproduction import reproduce_tiny
if __name__ == "__main__":
    results = reproduce_tiny(sys.argv[1])
    kept = [{k: v for k, v in row.items() if "seconds" not in k and "speed" not in k} for row in results.rows]
    print("rows", json.dumps(kept, sort_keys=True))
"""


@check(tries=3)
def kill_9_during_reproduce(tries: int) -> str:
    """It goes on from where it was killed, to the results of an undisturbed run."""
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "run.py"
        script.write_text(_REPRODUCE)
        whole = _reproduce(script, f"{place}/whole")
        folder, kept = Path(place) / "killed", []
        for k in range(tries):
            lines = 3 + 4 * k
            process = _start(script, folder)
            while process.poll() is None and _lines(folder) < lines:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert survivors(process.pid, 30) == [], (
                "workers outlive the one that was killed"
            )
            kept.append(_lines(folder))
            assert kept[-1] >= lines
            with open(next(folder.glob("cells-*.jsonl")), "ab") as torn:
                torn.write(b'{"cell": "tor')  # as if it had been writing
        again = _reproduce(script, str(folder))
        assert _lines(folder) == _lines(Path(f"{place}/whole"))
    assert again == whole, "another result than that of an undisturbed run"
    return f"killed with {', '.join(map(str, kept))} lines kept; then equal to an undisturbed run"


def _start(script: Path, folder) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, str(script), str(folder)], env=environment, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _reproduce(script: Path, folder: str) -> str:
    process = _start(script, folder)
    out, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return out.split("rows ")[1]


def _lines(folder: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in folder.glob("cells-*.jsonl"))
