"""Parts of the report about verdicts: what errors are worth, doubts, and remedies."""

from __future__ import annotations

from wideberth.cli.output import percent, whole, with_minus
from wideberth.cli.page_parts import section, table


def verdict_sections(result: dict) -> str:
    """The sections of a model of `--model measured`; empty of any other."""
    if result["verdicts"] is None:
        return ""
    return section("Certain and doubtful rows", _doubtful(result)) + section(
        "What to measure again", _again(result["verdicts"])
    )


def worth_of_errors(result: dict) -> str:
    """Accuracy in each fold, beside that of a model that ignores errors and gaps."""
    found, gain = result["evaluation"], result["evaluation"]["gains"]["ordinary"]
    gain = gain["accuracy"]
    low, high = (with_minus(f"{100 * gain[key]:+.1f}") for key in ("low", "high"))
    about = (
        "In every fold the model is compared with an ordinary SVM of the same C that "
        "ignores the errors and fills gaps with the median of the column; both see the "
        f"same rows. With {100 * gain['confidence']:g} % confidence the difference is "
        f"between {low} and {high} percentage points."
    )
    columns = {"fold": "count", "this model": "share", "errors ignored": "share"}
    columns["difference"] = "points"
    models = found["models"]
    shares = [models[k]["accuracy"]["folds"] for k in ("measured", "ordinary")]
    numbers = range(1, found["folds"] + 1)
    lines = zip(numbers, *shares, gain["folds"], strict=True)
    heading = "What the errors are worth"
    return f"<h3>{heading}</h3>\n<p>{about}</p>\n{table(heading, columns, lines)}"


def _doubtful(result: dict) -> str:
    said, found = result["verdicts"], result["evaluation"]
    total = said["certain"] + said["doubtful"]
    about = (
        f"{whole(said['certain'])} of {whole(total)} rows are certain: the chance that "
        "their true features lie on the other side of the boundary, given the errors "
        f"of the row, is at most {percent(1 - said['confidence'])}. The others are "
        "doubtful. It is the doubt that measurement leaves; classes may overlap beyond "
        "it."
    )
    if found is not None:
        about += " " + _tell_right(found["verdicts"])
    if not said["most_doubtful"]:
        return f"<p>{about}</p>"
    columns = {
        "row": "iterations",
        "class given": "text",
        "prediction": "text",
        "or else": "text",
        "chance": "share",
        "margin": "number",
        "spread": "number",
        "measure again": "text",
        "share": "share",
    }
    keys = ("row", "class", "prediction", "runner_up", "chance", "margin", "spread")
    lines = [
        [*(one[key] for key in keys), one["remeasure"] or "–", one["share"]]
        for one in said["most_doubtful"]
    ]
    heading = "The most doubtful rows"
    about += (
        " The table gives the chance of the other side, the margin and its spread, and "
        "the value to measure again, with its share of the spread’s square."
    )
    return f"<p>{about}</p>\n<h3>{heading}</h3>\n{table(heading, columns, lines)}"


def _tell_right(verdicts: dict) -> str:
    """Say how right certain and doubtful verdicts are on rows not seen."""
    parts = []
    for kind in ("certain", "doubtful"):
        if verdicts[kind]["rows"]:
            share = percent(verdicts[kind]["accuracy"])
            parts.append(f"{share} of the {whole(verdicts[kind]['rows'])} {kind}")
    return (
        f"On rows it had not seen, the model was right in {' and '.join(parts)} ones."
    )


def _again(said: dict) -> str:
    if not said["remeasure"]:
        return ""
    about = (
        "For every doubtful row this is the value whose error, or whose absence, "
        "contributes most to the doubt: the first to measure again, more precisely."
    )
    columns = {
        "feature": "text",
        "doubtful rows": "count",
        "of them gaps": "count",
        "mean share of the doubt": "share",
    }
    lines = [
        [one[key] for key in ("feature", "rows", "gaps", "share")]
        for one in said["remeasure"]
    ]
    return f"<p>{about}</p>\n{table('What to measure again', columns, lines)}"
