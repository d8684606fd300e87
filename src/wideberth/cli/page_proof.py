"""The part of the report about the proof: what is proven, and of which models."""

from __future__ import annotations

import math
from html import escape

from wideberth.cli.output import number, small_share
from wideberth.cli.page_parts import table
from wideberth.cli.suspects import tell_ending, tell_left_out


def proof(result: dict) -> dict[str, str]:
    """What `page.html` says of it."""
    problems = result["training"]["problems"]
    ramp = result["model"]["ramp"] is not None
    return {
        "each": "for every class " if len(problems) > 1 else "",
        "among": "that leave the same rows out " if ramp else "",
        "worst": small_share(max(problem["relative_gap"] for problem in problems)),
        "descent": _descent(problems) if ramp else "",
        "certificates": _certificates(problems, ramp),
    }


def _descent(problems: list[dict]) -> str:
    """Say what is not proven where rows may be left out."""
    return (
        "<p>Because labels may be wrong, rows far on the wrong side are left out, at a "
        f"fixed price each: {tell_left_out(problems)}. The proof is of the best model "
        "that leaves the same rows out, not of the best of all: with other rows left "
        "out a better one may exist. Weights were found and rows left out in turn, "
        f"which never raised the objective, until {tell_ending(problems)}.</p>\n"
    )


def _certificates(problems: list[dict], ramp: bool) -> str:
    columns = {
        "class against the rest" if len(problems) > 1 else "class": "text",
        "objective": "objective",
        "proven within": "gap",
        "no influence": "share",
        "full weight": "share",
        "iterations": "iterations",
    } | ({"left out": "count"} if ramp else {})
    keys = ("class", "objective", "relative_gap", "removed", "saturated", "iterations")
    lines = [[p[key] for key in keys] for p in problems]
    for line, problem in zip(lines, problems if ramp else (), strict=False):
        line.append(problem["descent"]["left_out"])
    return table("Certificates", columns, lines)


def critical_part(result: dict) -> str:
    """What the critical radius is; empty where it was not looked for."""
    problems, noise = result["training"]["problems"], result["uncertainty"]
    if any(_bounds(problem) is None for problem in problems):
        return ""
    heading = "Critical radius"
    told = f"<h3>{heading}</h3>\n<p>{escape(_tell_critical(problems, noise))}</p>"
    if len(problems) == 1:
        return told
    columns = {"class against the rest": "text", "critical radius": "limit"}
    lines = [[problem["class"], _limit(problem, noise)] for problem in problems]
    return f"{told}\n{table(heading, columns, lines)}"


def _bounds(problem: dict) -> list | None:
    """Bounds on the critical radius, or on the factor on radii that leads there."""
    return problem["critical_factor"] or problem["critical_radius"]


def _limit(problem: dict, noise: dict) -> tuple[str, float]:
    """The critical radius of a problem, as it is shown and as it is sorted by."""
    bounds = _bounds(problem)
    if bounds is None or bounds[1] is None:
        return "none", math.inf
    if problem["critical_factor"] is None:
        return _between(bounds), bounds[0]
    if noise["per_row"]:
        return f"{_between(bounds)} × that of the row", bounds[0]
    return _between(bounds, noise["largest"]), bounds[0]


def _between(bounds: list, unit: float = 1.0) -> str:
    low, high = (number(unit * bound) for bound in bounds)
    return low if bounds[1] - bounds[0] <= 0.01 * bounds[1] else f"{low} to {high}"


def _tell_critical(problems: list[dict], noise: dict) -> str:
    """Say where it is, of the class that is lost first."""
    there = [one for one in problems if _bounds(one)[1] is not None]  # type: ignore[index]
    if not there:
        return (
            "There is none: features without noise tell the classes apart, however "
            "large the noise of the others is."
        )
    first = min(there, key=lambda one: _bounds(one)[0])  # type: ignore[index]
    bounds = _bounds(first)
    of = f"For the class {first['class']}, the first to be lost, it" if (
        len(problems) > 1
    ) else "It"  # fmt: skip
    where = f"is {_limit(first, noise)[0]} {noise['unit']}"
    if first["critical_factor"] is not None and not noise["per_row"]:
        where += f", {_between(bounds)} times the radius trained with"  # type: ignore[arg-type]
    return (
        f"{of} {where}. Noise of that size covers all that separates the classes, and "
        "the best model ignores the features. A radius should stay well below."
    )
