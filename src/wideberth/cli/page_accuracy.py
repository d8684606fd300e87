"""The part of the report about accuracy: as measured, under noise, beside others."""

from __future__ import annotations

from wideberth.cli.output import number, percent, whole
from wideberth.cli.page_parts import draw_figure, section, side_by_side, table
from wideberth.cli.page_proof import critical_part
from wideberth.cli.page_verdicts import worth_of_errors
from wideberth.report.figures import SERIES, TEXT

#: What models of an evaluation are called, after the first: that one is this model.
_OTHERS = {"ordinary": "ordinary SVM, same C", "tuned": "ordinary SVM, C tuned"}
#: Number of the colour, and the line, of each model in turn.
_LINES = ((1, "-"), (3, "--"), (4, ":"))


def accuracy_section(result: dict) -> str:
    """Accuracy beside other models, the curve under noise, and what is mistaken."""
    found, critical = result["evaluation"], critical_part(result)
    if found is None:
        return section("How much noise it withstands", critical)
    # As wide as the page: half of it would hide the last columns.
    compared = f"<p>{_about(result)}</p>\n{_compared(result)}\n{_method(result)}\n"
    beside = worth_of_errors if found["radii"] is None else _noise_curve
    return section(
        f"{found['measure'].capitalize()} on rows it has not seen",
        compared
        + side_by_side(critical, beside(result))
        + side_by_side(_confused(found), _within(result)),
    )


def names_of(models: dict) -> list[str]:
    """What models are called."""
    return [_OTHERS[name] if k else "this model" for k, name in enumerate(models)]


def noise_heading(result: dict) -> str:
    """What a column of accuracies under the worst noise is called."""
    if result["uncertainty"]["per_row"]:
        return "under the worst noise of its radius"
    return f"under the worst noise, radius {number(result['uncertainty']['asked'])}"


def _noisy(result: dict) -> bool:
    return result["uncertainty"]["asked"] is not None


def _kinds(result: dict) -> dict[str, str]:
    """Kinds of accuracy there are, and their headings."""
    kinds = {"accuracy": "as measured"}
    return kinds | ({"certified": noise_heading(result)} if _noisy(result) else {})


def _about(result: dict) -> str:
    about = (
        f"Cross-validated in {result['evaluation']['folds']} folds: every row is "
        "predicted by a model that has not seen it, trained on the other folds by the "
        "same procedure."
    )
    if _noisy(result):
        about += (
            " Under the worst noise a prediction counts only if it is right and no "
            "change of the values within the radius could alter it."
        )
    if result["model"]["ramp"] is not None:
        about += (
            " Predictions are compared with the labels given, wrong ones among them: "
            "to disagree with such a label counts as an error here."
        )
    return about


def _method(result: dict) -> str:
    """How the numbers are made, folded up."""
    found = result["evaluation"]
    told = ["± behind an accuracy is the standard deviation between folds."]
    if found["measure"] != "accuracy":
        told.append(
            "Every class counts the same, because --class-weight balanced says so: "
            "balanced accuracy is the mean over the classes of the share of their rows "
            "that is right. What C is tuned to is balanced accuracy too."
        )
    if found["gains"]:
        sample = ""
        if (m := found["tuned"]["rows"]) < found["tuned"]["of"]:
            sample = f", judged by a sample of {whole(m)} rows"
        told += [
            "Ordinary SVMs expect no noise, trust every label and have no norm "
            "penalty. C is tuned for each fold, to what is most accurate on the other "
            f"folds{sample}.",
            "A difference is what this model is ahead, in percentage points. Both "
            "models predict the same rows, and ± is the standard error of their "
            "difference over these rows, paired. It counts if its interval of 95 % "
            "confidence does not hold 0. Training on another sample of rows would add "
            "some uncertainty of its own.",
        ]
    inside = "\n".join(f"<p>{text}</p>" for text in told)
    return f"<details><summary>How this is measured</summary>\n{inside}\n</details>"


def _compared(result: dict) -> str:
    """Accuracies of all models, and what this one is ahead of each."""
    found, kinds = result["evaluation"], _kinds(result)
    ahead = {"accuracy": "difference", "certified": "difference under noise"}
    columns = {"model": "text"}
    for kind, heading in kinds.items():
        columns |= {heading: "share"} | (
            {ahead[kind]: "gain"} if found["gains"] else {}
        )

    def line(called: str, accuracies: dict, gains: dict) -> list:
        pairs = [[accuracies[kind], gains.get(kind)] for kind in kinds]
        return [
            called,
            *(v for pair in pairs for v in pair[: 1 + bool(found["gains"])]),
        ]

    models, guess = found["models"], dict.fromkeys(kinds, found["majority"])
    lines = [
        line(called, model, found["gains"].get(name, {}))
        for called, (name, model) in zip(names_of(models), models.items(), strict=True)
    ]
    always = "most common class" if found["measure"] == "accuracy" else "one class"
    lines.append(line(always, guess, {}))
    return table(found["measure"].capitalize(), columns, lines)


def _confused(found: dict) -> str:
    """Classes given beside classes predicted."""
    classes, counts = found["confusion"]["classes"], found["confusion"]["counts"]
    columns = {"class": "text", **{f"→ {label}": "count" for label in classes}}
    lines = [[label, *row] for label, row in zip(classes, counts, strict=True)]
    heading = "What is taken for what"
    about = "Rows of each class, and the class that they were predicted to have."
    return f"<h3>{heading}</h3>\n<p>{about}</p>\n{table(heading, columns, lines)}"


def _within(result: dict) -> str:
    kinds, heading = _kinds(result), "Accuracy within each class"
    classes = next(iter(result["evaluation"]["models"].values()))["classes"]
    columns = {"class": "text", **dict.fromkeys(kinds.values(), "share")}
    lines = [[label, *map(own.get, kinds)] for label, own in classes.items()]
    about = "The share of rows of the class that this model has right."
    return f"<h3>{heading}</h3>\n<p>{about}</p>\n{table(heading, columns, lines)}"


def _noise_curve(result: dict) -> str:
    found, uncertainty = result["evaluation"], result["uncertainty"]
    radii, models = found["radii"], list(found["models"].values())

    def draw(axes) -> None:
        for (k, style), model in zip(_LINES, models, strict=False):
            curve, colour = model["curve"], SERIES[k - 1]
            band = {"color": colour, "alpha": 0.15, "lw": 0}
            if model is models[0]:
                axes.fill_between(radii, curve["low"], curve["high"], **band)
            axes.plot(radii, curve["mean"], color=colour, ls=style)
        axes.axhline(found["majority"], color=TEXT, lw=0.8, ls=":")
        if uncertainty["asked"]:
            axes.axvline(uncertainty["asked"], color=TEXT, lw=0.8)
        axes.set(
            xlabel=f"radius of the worst noise, {uncertainty['unit']}",
            ylabel=f"{found['measure']} whatever the noise",
            xlim=(0, radii[-1]),
            ylim=(0, 1.02),
        )

    upright = "the radius asked for"
    if uncertainty["per_row"]:
        upright = "the median radius of the rows"
    upright = (
        f" The upright line is {upright}, and the" if uncertainty["asked"] else " The"
    )
    plain = found["measure"] == "accuracy"
    of = "" if plain else ", in the mean over the classes"
    caption = (
        "The share of unseen rows that stay right under every change of that size"
        f"{of}. The band spans the folds of this model.{upright} dotted line is what "
        f"always naming the {'most common' if plain else 'same'} class achieves."
    )
    names, told = names_of(found["models"]), []
    for name, model in zip(names, models, strict=True):
        pairs = list(zip(model["curve"]["mean"], radii, strict=True))[::15]
        shares = [f"{percent(share)} at {number(radius)}" for share, radius in pairs]
        told.append(f"{name}: {', '.join(shares)}")
    label = "Certified accuracy as the radius grows. " + "; ".join(told)
    legend = [(k, name) for (k, _), name in zip(_LINES, names, strict=False)]
    title = "How much noise it withstands"
    return draw_figure("certified", title, caption, draw, label, legend)
