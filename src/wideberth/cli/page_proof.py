"""The part of the report about the proof: what is proven, and of which models."""

from __future__ import annotations

import math

from wideberth.cli.output import number, small_share
from wideberth.cli.page_parts import table
from wideberth.cli.suspects import tell_ending, tell_left_out


def proof(result: dict) -> dict[str, str]:
    """What `page.html` says of it."""
    problems = result["training"]["problems"]
    ramp = result["model"]["loss"] == "ramp"
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
        "noise limit": "limit",
    } | ({"left out": "count"} if ramp else {})
    keys = ("class", "objective", "relative_gap", "removed", "saturated", "iterations")
    lines = [[*(p[key] for key in keys), _limit(p)] for p in problems]
    for line, problem in zip(lines, problems if ramp else (), strict=False):
        line.append(problem["descent"]["left_out"])
    return table("Certificates", columns, lines)


def _limit(problem: dict) -> tuple[str, float]:
    factor = problem["critical_factor"] is not None
    bounds = problem["critical_factor" if factor else "critical_radius"]
    if bounds is None:
        return "not looked for", math.inf
    if bounds[1] is None:
        return "none", math.inf
    low, high = map(number, bounds)
    shown = low if bounds[1] - bounds[0] <= 0.01 * bounds[1] else f"{low} to {high}"
    return f"{shown} times the radius" if factor else f"radius {shown}", bounds[0]
