"""The part of the report about rows that are right by a hair."""

from __future__ import annotations

from html import escape

from wideberth.cli.output import percent, whole
from wideberth.cli.page_parts import section, side_by_side, table


def flips_section(result: dict) -> str:
    """Rows that flip most easily, and what to measure again; empty where none are."""
    flips = result["flips"]
    if not flips or not flips["rows"]:
        return ""
    noisy = result["uncertainty"]["asked"] is not None
    return section(
        "Rows that flip most easily",
        side_by_side(_rows(result, noisy), _features(flips) if noisy else ""),
    )


def _rows(result: dict, noisy: bool) -> str:
    flips, uncertainty = result["flips"], result["uncertainty"]
    named = flips["rows"][0]["id"] is not None
    # Noise that all rows share enters two classes through the same value everywhere.
    differ = noisy and len({one["feature"] for one in flips["rows"]}) > 1
    about = (
        f"The model has {whole(flips['right'])} of its own training rows right. Least "
        "noise is that which turns the row into the other class, "
        f"{uncertainty['unit']}."
    )
    if noisy:
        share = flips["flippable"] / flips["right"]
        about += (
            f" For {whole(flips['flippable']) if share else 'none'} of them "
            f"({percent(share)}) noise of the radius asked for is enough: in radii, at "
            "most 1."
        )
    if differ:
        about += " Noise enters most through the value named, with that share of it."
    about += " Rows are counted as in the file, from 1 below its header."
    columns = {
        "row": ("iterations", True),
        "id": ("text", named),
        "class": ("text", True),
        "rival": ("text", True),
        "radius": ("number", True),
        "noises": ("ratio", noisy),
        "feature": ("text", differ),
        "share": ("share", differ),
    }
    headings = {"rival": "turns into", "radius": "least noise", "noises": "in radii"}
    headings["feature"] = "through"
    shown = {key: kind for key, (kind, there) in columns.items() if there}
    lines = [[one[key] for key in shown] for one in flips["rows"]]
    kinds = {headings.get(key, key): kind for key, kind in shown.items()}
    label = "Rows that flip most easily"
    return f"<p>{escape(about)}</p>\n{table(label, kinds, lines)}"


def _features(flips: dict) -> str:
    """Through which values noise flips the rows that it can."""
    if not flips["features"]:
        return ""
    heading = "What to measure more precisely"
    about = (
        "Through these values noise does most to the rows that it can flip. The share "
        "is of what the worst noise does to the score, in the mean over such rows."
    )
    largest = flips["features"][0]["share"]
    columns = {"feature": "text", "share of the noise": "share", "": "bar"}
    lines = [
        [one["feature"], one["share"], (one["share"], largest)]
        for one in flips["features"]
    ]
    return f"<h3>{heading}</h3>\n<p>{about}</p>\n{table(heading, columns, lines)}"
