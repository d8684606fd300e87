"""Many at once: processes and threads."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trouble import check, child

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
    return f"{count} fits on shared data, four at a time, bit-equal to those in turn"
