"""Ctrl-C at random moments: the previous state stays, and nothing is left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

from commands import EXECUTABLE, as_csv, two_classes
from trouble import CHECKS, check, child, survivors

#: Seconds from Ctrl-C to the end of what was interrupted, on however busy a machine;
#: usually it is one.
PROMPT = 60.0

#: Interrupts work of a kind again and again, in one process, and prints
#: "interrupted finished slowest".
_LIBRARY = """
import os, random, signal, sys, tempfile, threading, time, warnings
import numpy as np
from pathlib import Path
from wideberth import RobustLinearSVC, RobustLinearSVCCV, path, solve

def work(kind, folder):
    seed = {"random_state": 0}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 20))
    y = np.where(X[:, 0] + rng.normal(size=6000) > 0, 1, -1)
    several = np.digitize(X[:, 0] + rng.normal(size=6000), [-1, 0, 1])
    if kind == "fit":
        model = RobustLinearSVC(radius=0.05, solver_options=seed)
        return model, lambda: model.fit(X, several)
    if kind == "coordinate":
        wide = rng.normal(size=(300, 2000))
        model = RobustLinearSVC(solver_options=seed | {"solver": "coordinate"}, tol=1e-9)
        return model, lambda: model.fit(wide, y[:300])
    if kind == "path":
        return None, lambda: path(X, y, Cs=20, radii=[0, 0.05, 0.1], random_state=0)
    if kind in ("search", "search in processes"):
        jobs = 2 if kind.endswith("processes") else None
        model = RobustLinearSVCCV(Cs=6, cv=3, n_jobs=jobs, solver_options=seed)
        return model, lambda: model.fit(X, y)
    if kind == "file":
        np.save(folder / "X.npy", np.tile(X, (20, 1)))
        labels = np.tile(y, 20)
        model = RobustLinearSVC(solver_options=seed)
        return model, lambda: model.fit(folder / "X.npy", labels)
    if kind == "text":
        from sklearn.datasets import dump_svmlight_file
        dump_svmlight_file(X, y, str(folder / "data.svm"), zero_based=False)
        model = RobustLinearSVC(solver_options=seed)
        return model, lambda: model.fit(folder / "data.svm")
    import dask.array as da
    model = RobustLinearSVC(solver_options=seed)
    parts = da.from_array(np.tile(X, (5, 1)), chunks=(3000, 20))
    labels = da.from_array(np.tile(y, 5), chunks=3000)
    return model, lambda: model.fit(parts, labels)

def state(kind, model, result):
    if kind == "path":
        return result.coefs.tobytes()
    return model.coef_.tobytes() + model.intercept_.tobytes()

def own_threads():
    # joblib keeps processes for the next call, and threads that talk to them.
    kept = ("QueueFeederThread", "ExecutorManagerThread")
    return [thread for thread in threading.enumerate() if thread.name not in kept]

def run(kind, tries):
    chance, folder = random.Random(kind), Path(tempfile.mkdtemp(dir=os.environ["OUTSIDE"]))
    model, action = work(kind, folder)
    before = state(kind, model, action())
    start = time.monotonic()
    action()
    usual = time.monotonic() - start
    threads = len(own_threads())
    left, interrupted, finished, slowest = sorted(os.listdir(os.environ["TMPDIR"])), 0, 0, 0.0
    for _ in range(tries):
        sent = []
        def press():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(chance.uniform(0, usual), press)
        result = None
        try:
            timer.start()
            result = action()
            timer.cancel()
            timer.join()
            time.sleep(0)
        except KeyboardInterrupt:
            pass
        except Exception as error:  # joblib's own cleaning up may fail on an interrupt
            if not isinstance(error.__context__, KeyboardInterrupt):
                raise
        stopped = result is None or (kind == "path" and not result.complete)
        if sent and stopped:
            slowest = max(slowest, time.monotonic() - sent[0])
        interrupted += stopped
        finished += not stopped
        if kind == "path" and result is not None:
            assert np.isfinite(result.coefs[result.done]).all()
            assert (result.relative_gaps[result.done] <= 1e-4).all()
        elif kind != "path":
            assert state(kind, model, None) == before, "the fitted model has changed"
    again = state(kind, model, action())
    assert again == before, "another answer after interrupts"
    assert sorted(os.listdir(os.environ["TMPDIR"])) == left, "temporary files are left"
    end = time.monotonic() + 10
    while len(own_threads()) > threads and time.monotonic() < end:
        time.sleep(0.05)
    assert len(own_threads()) <= threads, own_threads()
    print("found", interrupted, finished, slowest)

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    kinds, tries = sys.argv[1].split(","), int(sys.argv[2])
    for kind in kinds:
        if kind == "cluster":
            from distributed import Client, LocalCluster
            with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
                run(kind, tries)
        else:
            run(kind, tries)
"""


def interrupt(kinds: str, tries: int) -> str:
    """Interrupt work of these kinds, each so often, in one process."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("temporary", "outside"):
            os.mkdir(f"{place}/{name}")
        env = {"TMPDIR": f"{place}/temporary", "OUTSIDE": f"{place}/outside"}
        env["DASK_TEMPORARY_DIRECTORY"] = env["OUTSIDE"]
        out = child(_LIBRARY, kinds, tries, env=env, timeout=900)
        left = [name for name in os.listdir(env["TMPDIR"]) if "joblib" not in name]
        assert left == [], f"temporary files are left: {left}"
    lines = [line.split()[1:] for line in out.splitlines() if line.startswith("found")]
    interrupted = sum(int(line[0]) for line in lines)
    finished = sum(int(line[1]) for line in lines)
    slowest = max(float(line[2]) for line in lines)
    assert interrupted > 0, "no interrupt came in time"
    assert slowest < PROMPT, f"an interrupt took {slowest} s"
    return f"{interrupted} interrupted, {finished} done before, {slowest:.2f} s at most"


#: What is interrupted, its kind, and how often.
_INTERRUPTED = {
    "during a fit": ("fit", 40),
    "during coordinate steps": ("coordinate", 20),
    "during a path": ("path", 40),
    "during cross-validation": ("search", 40),
    "during cross-validation in processes": ("search in processes", 8),
    "while a file is read": ("file", 30),
    "while LIBSVM text is read": ("text", 30),
    "on Dask threads": ("dask", 20),
    "on a Dask cluster": ("cluster", 10),
}
for _name, (_kind, _tries) in _INTERRUPTED.items():
    CHECKS[f"Ctrl-C {_name}"] = partial(interrupt, _kind), _tries


# -- the command line --------------------------------------------------------------------


def _commands(folder: Path) -> dict[str, list[str]]:
    X, y = two_classes(3000)
    (folder / "data.csv").write_text(as_csv(X, y))
    start = "fit data.csv --target state --radius 0.1 --folds 0 --out model.wideberth --report r.html"
    subprocess.run(
        [*EXECUTABLE, *start.split()], cwd=folder, check=True, capture_output=True
    )
    fit = "fit data.csv --target state --radius 0.2 --force --out model.wideberth"
    words = {
        "fit": f"{fit} --folds 3 --report r.html",
        "fit in pieces": f"{fit} --folds 0 --memory 1GB",
        "predict": "predict model.wideberth data.csv --force --out p.csv",
        "certify": "certify model.wideberth data.csv --force --out p.csv --curve c.csv",
    }
    return {name: line.split() for name, line in words.items()}


def _read(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


@check(tries=8)
def Ctrl_C_during_commands(tries: int) -> str:
    """Each command `tries` times: exit code 130 or done, old files or new ones."""
    chance, codes, slowest = random.Random(0), [], 0.0
    with tempfile.TemporaryDirectory() as place:
        folder, temporary = Path(place) / "work", Path(place) / "temporary"
        folder.mkdir(), temporary.mkdir()
        commands = _commands(folder)
        for name, words in commands.items():
            before = _read(folder)
            for _ in range(tries):
                code, seconds = _press(words, folder, temporary, chance)
                codes.append(code)
                slowest = max(slowest, seconds)
                after = _read(folder)
                if code == 130:
                    new = {name for name in after if after[name] != before.get(name)}
                    assert new in (set(), _results(words)), (
                        f"{name} left a mixture: {new}"
                    )
                assert set(after) <= set(before) | _results(words), sorted(after)
                assert os.listdir(temporary) == []
                for file, content in before.items():
                    (folder / file).write_bytes(content)
                for file in set(after) - set(before):
                    (folder / file).unlink()
    assert set(codes) <= {0, 130}, codes
    assert 130 in codes, "no interrupt came in time"
    assert slowest < PROMPT, f"an interrupt took {slowest} s"
    return f"{codes.count(130)} interrupted, {codes.count(0)} done before, {slowest:.2f} s at most"


def _results(words: list[str]) -> set[str]:
    return {
        words[k + 1]
        for k, word in enumerate(words)
        if word in ("--out", "--report", "--curve")
    }


def _press(words, folder: Path, temporary: Path, chance) -> tuple[int, float]:
    """Start a command, interrupt it once Python is up, and wait for its end."""
    process = subprocess.Popen(
        [*EXECUTABLE, *words], cwd=folder, env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    maps = Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and "_multiarray_umath" not in maps.read_text():
        time.sleep(0.01)
    time.sleep(chance.uniform(0, 2.5))
    pressed = time.monotonic()
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert "Traceback" not in said, said
    assert survivors(process.pid) == []
    return process.returncode, time.monotonic() - pressed
