"""Numerical torture; `make torture` runs it and prints its figures.

Every case of `torture_problems.py` runs in a worker process under a time limit and must
end in one of three ways, each held against the 200-bit arithmetic of
`oracle.py`:

* certified: it says so, and the true relative gap is at most the tolerance;
* warned: a warning names the quantity that is out of range; what is claimed is true;
* refused: an error names the argument.

Anything else is a violation: NaN, a hang, a certificate that does not hold, a dual point
outside its box, a warning or an error that does not say what is wrong.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
import traceback
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from oracle import Answer, Task, judge, primal_value
from tools.stored import store
from torture_problems import Case, cases, clouds
from wideberth import RobustLinearSVC, path, solve

TOL = 1e-6
#: Seconds of processor time that one call may take, and how many times as long it may
#: take on a machine that is busy with other things.
LIMIT, PATIENCE = 20.0, 6
#: What a warning or an error must name to be of use.
_NAMES = r"\b(X|X_err|C|radius|radii|sample_weight|noise|intercept_penalty|weights?|labels|y)\b"
_TELLING = re.compile(_NAMES)


@dataclass
class Result:
    """How one case ended."""

    title: str
    outcome: str  # certified, warned, refused or wrong
    seconds: float = 0.0
    ratio: float = 0.0
    said: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def examine(case: Case) -> Result:
    """Run one case and judge how it ended."""
    started = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answers = _CALLS[case.call](case)
    except (TypeError, ValueError) as error:
        seconds, said = time.process_time() - started, [str(error)]
        complaints = [] if _TELLING.search(said[0]) else ["the error names no argument"]
        outcome = "wrong" if complaints else "refused"
        return Result(case.title, outcome, seconds, 0.0, said, complaints)
    except Exception:
        seconds = time.process_time() - started
        complaints = [traceback.format_exc(limit=-3)]
        return Result(case.title, "wrong", seconds, complaints=complaints)
    seconds = time.process_time() - started
    said = [str(note.message) for note in caught]
    stray = [f"stray {note.category.__name__}: {note.message}" for note in caught
             if issubclass(note.category, RuntimeWarning)]  # fmt: skip
    verdicts = [judge(*answer, TOL) for answer in answers]
    complaints = stray + [text for v in verdicts for text in v.complaints]
    open_ones = [answer for _, answer in answers if not answer.converged]
    if open_ones:
        about = [text for text in said if "onverged" in text]
        if not about:
            complaints.append("not converged, and no warning")
        complaints += [f"says nothing of use: {text}" for text in about
                       if not _TELLING.search(text)]  # fmt: skip
    outcome = "wrong" if complaints else "warned" if open_ones else "certified"
    ratio = max(verdict.ratio for verdict in verdicts)
    return Result(case.title, outcome, seconds, ratio, said, complaints)


def run_solve(case: Case) -> list[tuple[Task, Answer]]:
    """Call `solve`."""
    options = case.options | _intercept(case)
    found = solve(case.X, case.y, tol=TOL, random_state=0, **options)
    answer = Answer(found.w, found.b, found.alpha, found.primal, found.dual,
                    found.certificate.rounding, found.converged)  # fmt: skip
    return [(_task(case, case.y, case.options), answer)]


def run_path(case: Case) -> list[tuple[Task, Answer]]:
    """Call `path`; every point is an answer."""
    options = case.options | _intercept(case)
    found = path(
        case.X, case.y, tol=TOL, random_state=0, keep_alphas=True, **options
    )  # fmt: skip
    if not found.complete:
        raise RuntimeError("the path ended early")
    answers = []
    for point in found:
        task = _task(case, case.y, {"C": point.C, "radius": point.radius})
        # A point states no rounding; what float64 gives sums of this size is allowed.
        rounding = 1e-11 * (point.objective + float(point.alpha.sum()))
        rounding = rounding if point.converged else np.inf
        dual = point.objective - point.gap
        answer = Answer(point.w, point.b, point.alpha, point.objective, dual,
                        rounding, point.converged)  # fmt: skip
        answers.append((task, answer))
    return answers


def run_fit(case: Case) -> list[tuple[Task, Answer]]:
    """Fit the estimator; every binary problem is an answer."""
    options = dict(case.options)
    given = options.pop("fit", {})
    intercept = _intercept(case)
    steering = {"random_state": 0}
    if "intercept_penalty" in intercept:
        steering["intercept_penalty"] = intercept.pop("intercept_penalty")
    model = RobustLinearSVC(tol=TOL, solver_options=steering, **intercept, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(case.X, case.y, **given)
    for note in caught:
        warnings.warn(note.message, stacklevel=1)
    open_ones = any("Not converged" in str(note.message) for note in caught)
    labels = np.asarray(case.y)
    if set(model.predict(case.X).tolist()) - set(labels.tolist()):
        raise RuntimeError("predicts a label that was never given")
    positives = [1] if len(model.classes_) == 2 else range(len(model.classes_))
    answers = []
    for row, k in enumerate(positives):
        y = np.where(labels == model.classes_[k], 1, -1)
        alpha = np.zeros(len(y))
        alpha[model.support_] = np.abs(model.dual_coef_[row])
        w, b = model.coef_[row], model.intercept_[row]
        task = _task(case, y, options | given)
        primal = float(primal_value(task, w, b))
        answer = Answer(w, b, alpha, primal, primal - model.dual_gap_[row],
                        1e-9 * primal, not open_ones, balanced=False)  # fmt: skip
        answers.append((task, answer))
    return answers


_CALLS = {"solve": run_solve, "path": run_path, "fit": run_fit}


def _intercept(case: Case) -> dict:
    if case.intercept is None:
        return {"fit_intercept": False}
    return {"fit_intercept": True, "intercept_penalty": case.intercept}


def _task(case: Case, y, options: dict) -> Task:
    known = ("C", "radius", "noise", "sample_weight", "X_err", "error_shape")
    stated = {name: options[name] for name in known if name in options}
    if "X_err" in stated:
        stated.setdefault("radius", 1.0)
    return Task(case.X, y, intercept=case.intercept, **stated)


class Worker:
    """A process that examines cases one by one; killed and replaced where it hangs."""

    def __init__(self):
        self._start()

    def _start(self):
        context = multiprocessing.get_context("fork")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        self.process.start()

    def examine(self, case: Case, limit: float = LIMIT) -> Result:
        """`examine` with an end."""
        self.pipe.send(case)
        if self.pipe.poll(PATIENCE * limit):
            result = self.pipe.recv()
            if result.seconds > limit:
                result.outcome = "wrong"
                result.complaints.append(f"took {result.seconds:.1f} s > {limit:g} s")
            return result
        self.close()
        self._start()
        return Result(case.title, "wrong", limit, complaints=[f"hung: > {limit:g} s"])

    def close(self):
        """End the process."""
        self.process.kill()
        self.process.join()


def _serve(pipe) -> None:
    solve(
        *clouds(), solver="coordinate", fit_intercept=False
    )  # loads the compiled kernels
    while True:
        pipe.send(examine(pipe.recv()))


def run(chosen: list[Case], tell=None) -> list[Result]:
    """Examine cases under the time limit."""
    worker, results = Worker(), []
    try:
        for case in chosen:
            results.append(worker.examine(case))
            if tell is not None:
                tell(case, results[-1])
    finally:
        worker.close()
    return results


def report(chosen: list[Case], results: list[Result], keep: bool = False) -> int:
    """Print the table; returns the number of violations."""
    table = defaultdict(list)
    for case, result in zip(chosen, results, strict=True):
        table[case.family].append(result)
    outcomes = ("certified", "warned", "refused", "wrong")
    heads = ("problems", *outcomes, "worst gap ÷ tol", "longest s")
    print(f"{'family':<34}" + "".join(f"{head:>15}" for head in heads))
    rows = []
    for title, part in [*table.items(), ("all", results)]:
        counts = [sum(r.outcome == outcome for r in part) for outcome in outcomes]
        worst, longest = max(r.ratio for r in part), max(r.seconds for r in part)
        row = "".join(f"{count:>15}" for count in (len(part), *counts))
        print(f"{title:<34}{row}{worst:>15.3g}{longest:>15.2f}")
        rows.append([title, len(part), *counts, round(worst, 2), round(longest, 2)])
    if keep:
        store("torture", ["family", *heads], rows[:-1])
    return sum(r.outcome == "wrong" for r in results)


def main() -> int:
    """Run all cases, or those whose title holds a word; 1 if any promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="run only cases whose titles hold all")
    parser.add_argument("--say", action="store_true", help="show warnings and errors")
    parser.add_argument("--store", action="store_true", help="for the pages")
    options = parser.parse_args()
    chosen = [case for case in cases() if all(w in case.title for w in options.words)]

    def tell(case, result):
        shown = result.complaints + (result.said if options.say else [])
        if shown:
            print(f"{result.outcome}: {result.title}", *shown, sep="\n    ", flush=True)

    return 1 if report(chosen, run(chosen, tell), options.store) else 0


if __name__ == "__main__":
    sys.exit(main())
