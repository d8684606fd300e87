"""The report of a fit: one page for a scientist, from the plain data of the result."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from string import Template

from wideberth.cli.output import number, percent, whole
from wideberth.cli.page_accuracy import accuracy_section
from wideberth.cli.page_flips import flips_section
from wideberth.cli.page_parts import (
    FOLDED,
    SHOWN,
    draw_figure,
    folded,
    section,
    table,
)
from wideberth.cli.page_proof import proof
from wideberth.cli.page_suspects import suspects_section
from wideberth.cli.page_verdicts import verdict_sections
from wideberth.report.figures import MARKERS, SERIES, TEXT, plain_ticks
from wideberth.report.html import definitions, document

_MISSING = {
    "drop": "rows with one are left out",
    "median": "filled in with the median of the column",
    "error": "not allowed",
    "model": "known as far as the other values of the row tell",
}


def fit_page(result: dict) -> str:
    """Return the whole document; `page.html` has what it says of every fit."""
    title = f"A classifier of {result['data']['target']}"
    parts = {
        "title": escape(title),
        "verdict": _verdict(result["worth"]),
        "lead": _lead(result),
        "advice": section("Worth knowing", _advice(result["warnings"])),
        "asked": _asked(result),
        "data": _data(result),
        "classes": _classes(result["data"]["classes"]),
        "errors": _errors(result),
        "scales": _scales(result),
        "suspects": suspects_section(result),
        "accuracy": accuracy_section(result),
        "flips": flips_section(result),
        "verdicts": verdict_sections(result),
        "choice": section("The choice of C", _choice(result)),
        "rule": _rule(result),
        "weights": _weights(result),
        **proof(result),
        "command": escape(result["origin"]["command"]),
        "origin": _origin(result),
    }
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return document(title, Template(template).substitute(parts))


# -- parts of the page -----------------------------------------------------------------


def _with_options(text: str) -> str:
    """Text in which options are set apart, so that no line breaks within them."""
    return re.sub(r"--[a-z]+(-[a-z]+)*", r"<code>\g<0></code>", escape(text))


def _verdict(worth: dict) -> str:
    """The verdict set off from its numbers; a number and its error stay together."""
    verdict, numbers = map(_with_options, (worth["verdict"], worth["numbers"]))
    numbers = numbers.replace(" ± ", "&nbsp;±&nbsp;")
    return f"<strong>{verdict}</strong> {numbers}"


def _lead(result: dict) -> str:
    """How right it is, in a sentence."""
    found, noise = result["evaluation"], ""
    if found is None:
        return "How accurate it is on new rows was not measured."
    best = next(iter(found["models"].values()))
    if result["uncertainty"]["asked"] is not None:
        at = "within the radius of the row"
        if not result["uncertainty"]["per_row"]:
            at = f"of radius {number(result['uncertainty']['asked'])}"
        share = f"<strong>{percent(best['certified']['mean'])}</strong>"
        share = f"in {share}" if found["measure"] == "accuracy" else share
        noise = f", and {share} whatever noise {at} does to the values"
    if found["measure"] != "accuracy":
        return (
            f"On rows it had not seen, the {found['measure']} of the model, the mean "
            "over the classes of the share of rows it has right, was "
            f"<strong>{percent(best['accuracy']['mean'])}</strong>{noise}. Always "
            f"naming one class has {percent(found['majority'])}."
        )
    return (
        "On rows it had not seen, the model was right in "
        f"<strong>{percent(best['accuracy']['mean'])}</strong> of cases{noise}. Always "
        f"naming the most common class is right in {percent(found['majority'])}."
    )


def _advice(warnings: list[dict]) -> str:
    kinds = ["serious" if one["serious"] else "note" for one in warnings]
    lines = [
        f'<li class="{kind}">{_with_options(one["text"])}</li>\n'
        for kind, one in zip(kinds, warnings, strict=True)
    ]
    return f'<ul class="advice">\n{"".join(lines)}</ul>' if lines else ""


def _asked(result: dict) -> str:
    asked, noise = result["request"], result["uncertainty"]
    about = (
        f"{result['data']['target']} from {len(result['data']['features'])} features"
    )
    pairs = [("Predict", about), ("Noise", noise["story"])]
    if noise["per_row"]:
        low, half, high = (number(noise[k]) for k in ("smallest", "median", "largest"))
        about = f"from {low} to {high}, half of them below {half}"
        pairs.append(("Radii of the rows", about))
    scaled = asked["standardize"] or asked["missing"] == "model"
    scaled = "standardised for training" if scaled else "as given"
    C, price = result["model"]["C"], result["model"]["norm_penalty"]
    pairs.append(("C, the price of errors", f"{number(C)} ({asked['C_from']})"))
    if price > 0:
        pairs.append(("Norm penalty, the price of weights", number(price)))
    if result["model"]["ramp"] is not None:
        level = number(result["model"]["ramp"])
        about = f"may be wrong: a row whose margin is below {level} counts no further"
        pairs.append(("Labels", about))
    pairs += [
        ("Features", scaled),
        ("Missing values", _MISSING[asked["missing"]]),
        ("Classes", asked["weights"]),
    ]
    if asked["dropped"]:
        pairs.append(("Columns left out", ", ".join(asked["dropped"])))
    return definitions(pairs)


def _data(result: dict) -> str:
    data, noise = result["data"], result["uncertainty"]
    holes = [f"{name} ({n})" for name, n in data["missing_values"].items()]
    pairs = [
        ("Source", result["source"]["name"]),
        ("Rows read", whole(data["rows_read"])),
        ("Rows without a label", whole(data["rows_without_label"])),
        ("Rows left out, values missing", whole(data["rows_dropped"])),
        ("Rows used", whole(data["rows_used"])),
        ("Missing values", ", ".join(holes) if holes else "none"),
    ]
    if "samples" in noise:
        once = noise["samples_measured_once"]
        about = f"{noise['samples']} from {noise['readings']} measurements"
        pairs.append(("Samples", about + (f", {once} measured once" if once else "")))
    return definitions(pairs)


def _classes(counts: dict) -> str:
    total = sum(counts.values())
    columns = {"class": "text", "rows": "count", "share": "share"}
    lines = ((name, n, n / total) for name, n in counts.items())
    return table("Rows of each class", columns, lines)


def _scales(result: dict) -> str:
    features, noise = result["data"]["features"], result["uncertainty"]["scales"]
    shown = ("mean", "std", "min", "max")
    kinds = (*shown, *(["noise of size 1"] if noise else []))
    columns = {"feature": "text", **dict.fromkeys(kinds, "number")}
    lines = [
        [
            one["name"],
            *(one[key] for key in shown),
            *([noise[one["name"]]] if noise else []),
        ]
        for one in features[:FOLDED]
    ]
    heading = "Scales of the features, in raw units"
    return folded(heading, len(features), columns, lines)


def _errors(result: dict) -> str:
    """Errors beside the spread of each feature, the largest share first."""
    errors = result["uncertainty"].get("errors")
    if errors is None:
        return ""
    spread = {f["name"]: f["std"] for f in result["data"]["features"]}
    shares = {n: e / spread[n] if spread[n] > 0 else 0.0 for n, e in errors.items()}
    order = sorted(shares, key=lambda name: -shares[name])
    columns = {"feature": "text", "median error": "number", "std": "number"}
    columns["error as share of std"] = "share"
    lines = [[name, errors[name], spread[name], shares[name]] for name in order]
    heading = "Errors beside the spread of each feature"
    parts = [f"<h3>{heading}</h3>", table(heading, columns, lines[:SHOWN])]
    if rest := lines[SHOWN:FOLDED]:
        parts.append(folded("Errors of the others", len(lines), columns, rest))
    return "\n".join(parts)


def _choice(result: dict) -> str:
    choice, sought = result["choice"], result["request"]["score_radius"]
    if choice is None:
        return ""
    by = "as measured"
    if sought is not None:
        by = f"under the worst noise, radius {sought:g}"
    chosen = [f"C = {number(choice['C'])}"]
    if len(choice["factors"]) > 1:
        chosen.append(f"{choice['unit']} {choice['factor']:g}")
    if len(tried := choice.get("norm_penalties", ())) > 1:
        among = ", ".join(f"{one:g}" for one in tried)
        chosen.append(f"norm penalty {choice['norm_penalty']:g} (of {among})")
    if len(tried := choice.get("ramps", ())) > 1:
        among = ", ".join(f"{one:g}" for one in tried)
        chosen.append(f"ramp {choice['ramp']:g} (of {among})")
    about = (
        f"{' and '.join(chosen)} had the best {choice['measure']} {by}, "
        f"{percent(choice['score'])} on average over {choice['folds']} folds. "
        "The choice is made anew in every fold of the accuracies above, so that they "
        "do not flatter it."
    )
    return f"<p>{about}</p>\n{_choice_curves(choice)}"


def _rule(result: dict) -> str:
    model, value = result["model"], "value"
    if result["verdicts"] is not None:
        value = "true value, as far as errors and the other values let it be known,"
    if len(model["scores_for"]) > 1:
        return (
            f"For each class multiply each {value} by its weight, and add the products "
            "and the constant. The highest score wins."
        )
    low, high = map(escape, model["classes"])
    return (
        f"Multiply each {value} by its weight, add the products and "
        f"{number(model['intercepts'][0])}. A positive score means "
        f"<strong>{high}</strong>, any other <strong>{low}</strong>."
    )


def _weights(result: dict) -> str:
    model, scores = result["model"], result["model"]["scores_for"]
    binary = len(scores) == 1
    spread = {f["name"]: f["std"] for f in result["data"]["features"]}
    effects = {
        name: [w * spread[name] for w in weights]
        for name, weights in model["coefficients"].items()
    }
    left_out = model["left_out"]
    kept = [name for name in effects if name not in {*left_out}]
    order = sorted(kept, key=lambda name: -max(map(abs, effects[name])))
    largest = max((abs(e) for es in effects.values() for e in es), default=0.0)
    columns = {"feature": "text"}
    for label in scores:
        of = "" if binary else f", {label}"
        columns |= {f"weight{of}": "number", f"per std{of}": "number"}
    if binary:
        columns["effect"] = "bar"

    def line(name: str) -> list:
        pairs = zip(model["coefficients"][name], effects[name], strict=True)
        values = [value for pair in pairs for value in pair]
        return [name, *values, *([(effects[name][0], largest)] if binary else [])]

    told = f"<p>{len(kept)} of {len(effects)} features have a weight.</p>"
    parts = [told] if left_out else []
    parts.append(table("Weights", columns, map(line, order[:SHOWN])))
    if not binary:
        constants = zip(scores, map(number, model["intercepts"]), strict=True)
        parts.append(f"<h3>Constants</h3>\n<dl>{definitions(constants)}</dl>")
    if rest := order[SHOWN:FOLDED]:
        lines = map(line, rest)
        parts.append(folded("The other features", len(order), columns, lines))
    if left_out:
        names = ([name] for name in left_out[:FOLDED])
        heading = "Features without a weight"
        parts.append(folded(heading, len(left_out), {"feature": "text"}, names))
    return "\n".join(parts)


def _origin(result: dict) -> str:
    origin, source = result["origin"], result["source"]
    return definitions(
        [
            ("Data, SHA-256", source["sha256"]),
            *((f"Data, {name}", value) for name, value in source["details"].items()),
            ("Random seed", result["request"]["seed"]),
            *origin["versions"].items(),
            *origin["machine"].items(),
            ("Written", origin["time"]),
        ]
    )


# -- figures ---------------------------------------------------------------------------


def _choice_curves(choice: dict) -> str:
    chosen = choice["factors"].index(choice["factor"])
    others = [k for k in range(len(choice["factors"])) if k != chosen]
    shown = sorted([chosen, *others[: len(SERIES) - 1]])

    def draw(axes) -> None:
        for colour, marker, k in zip(SERIES, MARKERS, shown, strict=False):
            line = {"color": colour, "marker": marker, "markersize": 3}
            axes.plot(choice["Cs"], choice["scores"][k], **line)
        axes.axvline(choice["C"], color=TEXT, lw=0.8)
        judged = f"mean {choice['measure']} over the folds"
        axes.set(xscale="log", xlabel="C", ylabel=judged)
        plain_ticks(axes.xaxis)

    best = max(choice["scores"][chosen])
    title = f"{choice['measure'].capitalize()} over C"
    label = f"{title}. The best is {percent(best)} at C {number(choice['C'])}."
    names = [f"{choice['unit']} {choice['factors'][k]:g}" for k in shown]
    legend = list(enumerate(names, 1)) if len(shown) > 1 else []
    about = "The upright line is the choice."
    return draw_figure("choice-of-C", title, about, draw, label, legend)
