"""What a run says, in sentences; each number is taken from the run."""

from __future__ import annotations

from statistics import median

from wideberth_paper.methods import METHODS, TOLERANCE
from wideberth_paper.printed import PRINTED
from wideberth_paper.report.summary import TITLES, Results

_DEFAULT = "wideberth_ellipsoid"


def scope(results: Results) -> str:
    """Say how much of the experiment this is."""
    plan, machine = results.plan, results.environment["machine"]
    repeats = "once" if plan.repeats == 1 else f"{plan.repeats} times"
    extent = (
        f"All {len(plan.configurations)} configurations of the paper"
        if plan.name == "full"
        else f"A quick run: {len(plan.configurations)} of the paper’s 32 "
        "configurations; “make reproduce-full” runs them all"
    )
    return (
        f"{extent}. Every fit was timed {repeats}, one at a time on one thread; "
        f"{_count(len(plan.validated), 'configuration')} cross-validated. "
        f"{machine['processor']}, {machine['cores']} cores."
    )


def findings(results: Results) -> list[str]:
    """The main results, one sentence or two each; none of a run with holes in it."""
    if results.failures:
        return ["Some cells failed; the tables below show the others."]
    return [
        _wrong_removals(results),
        _balls(results),
        _damage(results),
        _repair(results),
        _speed(results),
    ]


def _count(number: int, noun: str) -> str:
    return f"{_spaced(number)} {noun}{'' if number == 1 else 's'}"


def _spaced(number: float) -> str:
    """A whole number with thin spaces between its thousands."""
    return f"{number:,.0f}".replace(",", "\u2009")


def _wrong_removals(results: Results) -> str:
    rows = results.select("as_published")
    wrong = sum(row["wrong_removals"] for row in rows)
    affected = sum(row["wrong_removals"] > 0 for row in rows)
    return (
        f"Algorithm 1 as published removes {_count(wrong, 'sample')} that carry weight "
        f"at the optimum, in {affected} of {_count(len(rows), 'configuration')}."
    )


def _balls(results: Results) -> str:
    balls = results.balls("as_published")
    (early, of_early), (late, of_late) = balls[False], balls[True]
    return (
        "The cause is the second round: samples fixed in S are left out of the "
        "training problem, so its safe ball belongs to another problem. Where S was "
        f"still empty, the ball misses the optimum in {early} of {of_early} rounds; "
        f"where it was not, in {late} of {of_late}."
    )


def _damage(results: Results) -> str:
    rows = [row for row in results.select("as_published") if row["excess_kept"]]
    if not rows:
        return "Its answers are optimal on the samples of this run all the same."
    worst = max(rows, key=lambda row: row["excess_kept"])
    good = next(
        row
        for row in results.select(_DEFAULT, dataset=worst["dataset"])
        if (row["C"], row["radius"]) == (worst["C"], worst["radius"])
    )
    where = f"{TITLES[worst['dataset']]}, C = {worst['C']:g}, ρ = {worst['radius']:g}"
    return (
        f"At worst ({where}) the model it returns has an objective "
        f"{_spaced(100 * worst['excess'])} % above the optimum and a training accuracy "
        f"of {100 * worst['train_accuracy']:.1f} %, where the optimum has "
        f"{100 * good['train_accuracy']:.1f} %. An exact training on the samples it "
        f"kept would be {_spaced(100 * worst['excess_kept'])} % above."
    )


def _repair(results: Results) -> str:
    parts = []
    for method in ("as_printed", "repaired"):
        rows = results.select(method)
        wrong = sum(r["wrong_removals"] + r["wrong_saturations"] for r in rows)
        rates = [100 * row["rate_paper"] for row in rows]
        parts.append(
            f"{METHODS[method].label.split(', ')[1]} {wrong} wrong decisions and a "
            f"median screening rate of {median(rates):.1f} %"
        )
    return (
        "Read as printed, or repaired by keeping S in the problem, the algorithm is "
        f"safe: {', '.join(parts)}."
    )


def _speed(results: Results) -> str:
    parts = []
    for method in ("as_published", "repaired", "clarabel", _DEFAULT):
        ratios = [row["speedup"] for row in results.select(method) if "speedup" in row]
        parts.append(
            f"{METHODS[method].label} {min(ratios):.2f} to {max(ratios):.2f} times"
        )
    printed = ", ".join(
        f"{low:g} to {high:g} times on {TITLES[name]}"
        for name in results.datasets
        for low, high in [PRINTED[name]["speedup"]]
    )
    worst = max(row["relative_gap"] for row in results.select(_DEFAULT))
    return (
        f"Against SCS with the paper’s options, on the same clock: {'; '.join(parts)} "
        f"as fast. The paper reports {printed}. wideberth’s answers carry a "
        f"certified relative gap of at most {worst:.1e} (asked: {TOLERANCE:g})."
    )
