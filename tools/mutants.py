"""Break the package on purpose; every break must be noticed. `make mutants` runs it.

Each mutant is one exact replacement in one file, applied to a copy of the package,
never to the checkout. The tests most likely to notice, its suspects, run first; the
whole suite where they do not. Printed is mutant → first failing test. A mutant that
survives is a missing test: exit code 1. The suspects must pass on the package as it is.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "wideberth"
#: Seconds for the suspects, and for the whole suite.
LIMITS = 240, 1800


@dataclass(frozen=True)
class Mutant:
    """A deliberate mistake: `old` becomes `new` in `file`."""

    name: str
    file: str
    old: str
    new: str
    suspect: str

    def applied(self, text: str) -> str:
        """The broken text; loud where the text to break is not there exactly once."""
        count = text.count(self.old)
        if count != 1:
            raise ValueError(
                f"mutant {self.name!r}: {self.file} holds the text to replace {count} "
                "times, not once; the mutant has to follow the code."
            )
        return text.replace(self.old, self.new)


MUTANTS = [
    Mutant(
        "saturated samples dropped from the reduced problem",
        "screening.py",
        "            folded = fold if folded is None else folded + fold\n",
        "            del fold\n",
        "test_screening.py::test_reduced_problem_has_the_values_of_the_full_one",
    ),
    Mutant(
        "GAP radius √(2G) → √G/4",
        "regions.py",
        "radius = np.sqrt(2 * gap) * (1 + gamma(4))",
        "radius = np.sqrt(gap) / 4",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
    Mutant(
        "midpoint radius √(G − ¼‖·‖²) → a quarter",
        "regions.py",
        "radius = np.sqrt(max(gap - 0.25 * apart**2, 0.0)) * (1 + gamma(8))",
        "radius = np.sqrt(max(gap - 0.25 * apart**2, 0.0)) / 4",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
    Mutant(
        "sign flip in the separable UB",
        "bounds.py",
        "            sample.margins + swing - sample.radii * max(omega - spread, 0.0),",
        "            sample.margins - swing - sample.radii * max(omega - spread, 0.0),",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
    Mutant(
        "sign flip in the joint UB",
        "bounds.py",
        "rho * center * cosine + r * np.sqrt(_positive(inside))",
        "rho * center * cosine - r * np.sqrt(_positive(inside))",
        "test_screening.py::test_joint_test_is_the_exact_range_over_a_ball",
    ),
    Mutant(
        "LB with the noise at its smallest",
        "bounds.py",
        "            sample.margins - swing - sample.radii * (omega + spread),",
        "            sample.margins - swing - sample.radii * (omega - spread),",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
    Mutant(
        "final pass over all samples skipped",
        "solvers/control.py",
        "        if found.point.margins.size != full.n:\n",
        "        if False:\n",
        "test_control.py",
    ),
    Mutant(
        "reduced problem's gap taken for the whole one's",
        "solvers/control.py",
        "return self.found.meets(tol) and self.finish().meets(tol)",
        "return self.found.meets(tol)",
        "test_control.py",
    ),
    Mutant(
        "sample weights forgotten in the gap",
        "problem.py",
        "hinge = accurate_sum(self.weights * at_least(0.0, slack))",
        "hinge = accurate_sum(at_least(0.0, slack))",
        "test_problem.py::test_reported_rounding_covers_the_error_against_extended_precision",
    ),
    Mutant(
        "intercept penalty dropped from the dual value",
        "problem.py",
        "value = total - 0.5 * float(w @ w) - penalty\n",
        "value = total - 0.5 * float(w @ w)\n",
        "test_problem.py::test_reported_rounding_covers_the_error_against_extended_precision",
    ),
    Mutant(
        "α not clipped to its box",
        "problem.py",
        "            alpha = xp.clip(alpha, 0.0, self.weights)\n",
        "            alpha = xp.clip(alpha, 0.0, np.inf)\n",
        "test_problem.py::test_repair_satisfies_box_and_balance",
    ),
    Mutant(
        "noise helps instead of hurting",
        "problem.py",
        "            slack += self.radii * omega\n",
        "            slack -= self.radii * omega\n",
        "test_problem.py::test_worst_case_perturbation_attains_the_robust_hinge",
    ),
    Mutant(
        "noise of folded samples forgotten",
        "problem.py",
        "- fold.balance * b + fold.s * omega\n",
        "- fold.balance * b\n",
        "test_screening.py::test_reduced_problem_has_the_values_of_the_full_one",
    ),
    Mutant(
        "unbalanced dual point accepted",
        "problem.py",
        "        if self.intercept == 0 and not self._balanced(feasible):\n",
        "        if False:\n",
        "test_solve.py::test_a_dual_point_that_cannot_be_balanced_has_no_value",
    ),
    Mutant(
        "half the noise in w(α)",
        "noise.py",
        "        return d * (1 - s / norm) if norm > s else np.zeros_like(d)",
        "        return d * (1 - 0.5 * s / norm) if norm > s else np.zeros_like(d)",
        "test_noise.py",
    ),
    Mutant(
        "rounding of margins forgotten",
        "_rounding.py",
        "    error = accurate_sum(per_slack) * (1 + gamma(64))\n",
        "    error = 0.0\n",
        "test_range.py::test_rounding_covers_cancellation_within_a_row",
    ),
    Mutant(
        "rounding not allowed for in regions",
        "regions.py",
        "    return max(certificate.gap, 0.0) + certificate.rounding\n",
        "    return max(certificate.gap, 0.0)\n",
        "test_range.py::test_regions_allow_for_the_rounding_of_the_gap",
    ),
    Mutant(
        "certified though rounding drowns the gap",
        "problem.py",
        "return self.gap <= tol * self.primal and self.rounding <= doubt",
        "return self.gap <= tol * self.primal",
        "test_range.py::test_a_gap_that_rounding_drowns_proves_nothing",
    ),
    Mutant(
        "bracket of a free intercept the wrong way round",
        "screening.py",
        "    worst = np.where(positive, b_low, -b_high)\n",
        "    worst = np.where(positive, b_high, -b_low)\n",
        "test_screening.py::test_no_decision_and_no_bound_is_ever_wrong",
    ),
    Mutant(
        "units not undone in w",
        "_units.py",
        "        w = w if self.sigma == 1.0 else w / self.sigma\n",
        "",
        "test_range.py::test_units_are_changed_exactly",
    ),
    Mutant(
        "units not undone in the values",
        "_units.py",
        "return value if self.sigma == 1.0 else value / self.sigma / self.sigma\n",
        "return value\n",
        "test_range.py::test_units_are_changed_exactly",
    ),
    Mutant(
        "radii beyond the range cut without a word",
        "_units.py",
        "        if self.cut is not None and omega > 0:\n",
        "        if False:\n",
        "test_range.py::test_what_float64_cannot_hold_is_refused_by_name",
    ),
    Mutant(
        "warm start taken for the solution",
        "solve.py",
        "if start.point.value - start.dual.value <= control.tol * start.point.value:",
        "if True:",
        "test_solve.py::test_a_poor_warm_start_is_only_a_start",
    ),
    Mutant(
        "critical radius a tenth too small",
        "endpoints.py",
        '    return size / s if s > 0 else float("inf")\n',
        '    return 0.9 * size / s if s > 0 else float("inf")\n',
        "test_endpoints.py::test_model_dies_exactly_at_the_critical_radius",
    ),
    Mutant(
        "dual carried along a path without its factor",
        "sequence.py",
        "problem.dual_at(alpha, combined=ratio * dual.d),",
        "problem.dual_at(alpha, combined=dual.d),",
        "test_path.py::test_a_carried_solution_has_the_gap_of_the_theory",
    ),
    Mutant(
        "every point of a path called converged",
        "sequence.py",
        "            certificate.proves(control.tol),\n",
        "            True,\n",
        "test_path.py::test_points_that_do_not_converge_are_reported_together",
    ),
    Mutant(
        "one chunk left out of the certificate",
        "scale/work.py",
        "        hinge = math.fsum(self._hinges)\n",
        "        hinge = math.fsum(self._hinges[1:])\n",
        "test_scale.py::test_the_certificate_is_that_of_the_whole_problem",
    ),
    Mutant(
        "chunks' noise at its smallest in LB",
        "scale/passes.py",
        "            margins - swing - problem.radii * (omega + spread),",
        "            margins + swing - problem.radii * (omega - spread),",
        "test_scale.py::test_what_is_proven_of_rows_is_true",
    ),
    Mutant(
        "classes flipped in predict",
        "_linear.py",
        "            numbers = xp.where(values > 0,",
        "            numbers = xp.where(values <= 0,",
        "test_estimators.py::test_labels_of_any_kind",
    ),
    Mutant(
        "class weights forgotten",
        "_linear.py",
        "        return weights * table[numbers]\n",
        "        return weights * (table[numbers] > 0)\n",
        "test_estimators.py::test_class_weights_are_sample_weights",
    ),
    Mutant(
        "certified radius of the runner-up's best",
        "certify.py",
        "    return radii.min(axis=1)\n",
        "    return np.where(np.isinf(radii), 0, radii).max(axis=1)\n",
        "test_certify.py",
    ),
]


def survey(mutant: Mutant) -> tuple[str | None, float]:
    """Run the tests on a broken copy; the first that fails, and the seconds it took."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(
            PACKAGE.parent, source, ignore=shutil.ignore_patterns("__pycache__")
        )
        target = source / "wideberth" / mutant.file
        broken = mutant.applied(target.read_text(encoding="utf-8"))
        target.write_text(broken, encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
        _check_copy(source, environment)
        for tests, limit in zip(
            (f"tests/{mutant.suspect}", "tests"), LIMITS, strict=True
        ):
            failed = _first_failure([tests], environment, limit)
            if failed is not None:
                return failed, time.perf_counter() - started
    return None, time.perf_counter() - started


def _check_copy(source: Path, environment: dict) -> None:
    """Make sure that it is the copy that the tests will import."""
    told = subprocess.run(
        [sys.executable, "-c", "import wideberth; print(wideberth.__file__)"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    if not told.stdout.startswith(str(source)):
        raise RuntimeError(f"the tests would import {told.stdout.strip()}")


def _first_failure(tests: list[str], environment: dict, limit: float) -> str | None:
    options = ["-x", "-q", "-rfE", "-p", "no:cacheprovider"]
    options += ["--hypothesis-profile", "no shrinking"]  # that it fails is enough
    command = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, re.MULTILINE)
    if found:
        return found[1]
    return None if done.returncode == 0 else f"exit code {done.returncode}"


def main() -> int:
    """Run the mutants whose names hold all words given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if all(word in m.name for word in options.words)]
    survivors, suspects = 0, sorted({f"tests/{mutant.suspect}" for mutant in chosen})
    failed = _first_failure(suspects, dict(os.environ), LIMITS[1])
    if failed is not None:
        print(f"The package fails {failed} unbroken; mend that first.")
        return 1
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, (failed, seconds) in zip(
            chosen, pool.map(survey, chosen), strict=True
        ):
            survivors += failed is None
            verdict = "SURVIVES" if failed is None else failed
            print(f"{mutant.name:<52} {seconds:>5.0f} s  {verdict}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
