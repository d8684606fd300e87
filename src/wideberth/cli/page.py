"""The report of a fit: one page for a scientist, from the plain data of the result."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from wideberth.cli.drawing import MODELS, choice_curves, noise_curve
from wideberth.cli.words import number, percent, small_share, whole
from wideberth.report.html import bar, cell, definitions, document, figure, table

__all__ = ["fit_page"]

#: Features shown; the others follow folded up, and beyond the second number not at all.
_SHOWN, _FOLDED = 25, 1000


def fit_page(result: dict) -> str:
    """Return the whole document."""
    body = "\n".join(
        f"<section>\n{part}\n</section>"
        for part in (
            _advice(result),
            _asked(result),
            _data(result),
            _accuracy(result),
            _choice(result),
            _model(result),
            _proof(result),
            _reproduction(result),
        )
        if part
    )
    title = f"A classifier of {result['data']['target']}"
    head = f"<h1>{escape(title)}</h1>\n{_verdict(result)}"
    return document(title, f"<header>\n{head}\n</header>\n{body}\n")


def _verdict(result: dict) -> str:
    found, best = result["evaluation"], _first_model(result)
    if best is None:
        return (
            '<p class="verdict">How accurate it is on new rows was not measured: there '
            "was no cross-validation.</p>"
        )
    text = (
        f"On rows it had not seen, the model was right in "
        f"<strong>{percent(best['accuracy']['mean'])}</strong> of cases"
    )
    if result["uncertainty"]["largest"] > 0:
        text += (
            f", and in <strong>{percent(best['certified']['mean'])}</strong> whatever "
            "noise of the size given does to the values"
        )
    text += (
        f". Always naming the most common class is right in "
        f"{percent(found['majority'])}."
    )
    return f'<p class="verdict">{text}</p>'


def _first_model(result: dict) -> dict | None:
    found = result["evaluation"]
    return None if found is None else next(iter(found["models"].values()))


def _advice(result: dict) -> str:
    if not result["warnings"]:
        return ""
    kinds = {True: "serious", False: "note"}
    lines = "\n".join(
        f'<li class="{kinds[one["serious"]]}">{escape(one["text"])}</li>'
        for one in result["warnings"]
    )
    return f'<h2>Worth knowing</h2>\n<ul class="advice">\n{lines}\n</ul>'


def _asked(result: dict) -> str:
    asked = result["request"]
    pairs = [
        ("Predict", f"{result['data']['target']} from {_count(result)} features"),
        ("Noise", result["uncertainty"]["story"]),
        *_radii(result["uncertainty"]),
        (
            "C, the price of errors",
            f"{number(result['model']['C'])} ({asked['C_from']})",
        ),
        (
            "Features",
            "standardised for training" if asked["standardize"] else "as given",
        ),
        ("Missing values", _MISSING[asked["missing"]]),
        ("Classes", asked["weights"]),
    ]
    if asked["dropped"]:
        pairs.append(("Columns left out", ", ".join(asked["dropped"])))
    return f"<h2>What was asked</h2>\n<dl>{definitions(pairs)}</dl>"


def _radii(uncertainty: dict) -> list[tuple[str, str]]:
    if not uncertainty["per_row"]:
        return []
    low, middle, high = (
        number(uncertainty[name]) for name in ("smallest", "median", "largest")
    )
    return [("Radii of the rows", f"from {low} to {high}, half of them below {middle}")]


_MISSING = {
    "drop": "rows with one are left out",
    "median": "filled in with the median of the column",
    "error": "not allowed",
}


def _count(result: dict) -> int:
    return len(result["data"]["features"])


def _data(result: dict) -> str:
    data = result["data"]
    holes = [f"{name} ({n})" for name, n in data["missing_values"].items()]
    pairs = [
        ("Source", result["source"]["name"]),
        ("Rows read", whole(data["rows_read"])),
        ("Rows without a label", whole(data["rows_without_label"])),
        ("Rows left out, values missing", whole(data["rows_dropped"])),
        ("Rows used", whole(data["rows_used"])),
        ("Missing values", ", ".join(holes) if holes else "none"),
    ]
    uncertainty = result["uncertainty"]
    if "samples" in uncertainty:
        once = uncertainty["samples_measured_once"]
        about = f"{uncertainty['samples']} from {uncertainty['readings']} measurements"
        pairs.append(("Samples", about + (f", {once} measured once" if once else "")))
    balance = table(
        "Rows of each class",
        [("class", True), ("rows", False), ("share", False)],
        (
            [cell(k, k, "text"), cell(whole(n), n),
             cell(percent(n / sum(data["classes"].values())), n)]
            for k, n in data["classes"].items()
        ),
    )  # fmt: skip
    return (
        f"<h2>The data</h2>\n<dl>{definitions(pairs)}</dl>\n"
        f"<h3>Classes</h3>\n{balance}\n{_scales(result)}"
    )


def _scales(result: dict) -> str:
    noise = result["uncertainty"]["scales"]
    columns = ["mean", "std", "min", "max"]
    headings = [("feature", True), *((name, False) for name in columns)]
    if noise:
        headings.append(("noise of size 1", False))

    def line(feature: dict) -> list[str]:
        values = [feature[name] for name in columns]
        values += [noise[feature["name"]]] if noise else []
        name = feature["name"]
        return [cell(name, name, "text"), *(cell(number(v), repr(v)) for v in values)]

    lines = [line(feature) for feature in result["data"]["features"][:_FOLDED]]
    heading = f"Scales of the features, in raw units{_at_most(_count(result))}"
    inside = table(heading, headings, lines)
    return f"<details><summary>{heading}</summary>\n{inside}\n</details>"


def _at_most(count: int) -> str:
    return f" (the first {_FOLDED} of {count})" if count > _FOLDED else ""


def _accuracy(result: dict) -> str:
    found = result["evaluation"]
    if found is None:
        return ""
    noisy = result["uncertainty"]["largest"] > 0
    headings = [("model", True), ("as measured", False)]
    headings += [("under the worst noise", False)] if noisy else []
    lines = [
        [
            cell(MODELS[name], MODELS[name], "text"),
            _with_spread(model["accuracy"]),
            *([_with_spread(model["certified"])] if noisy else []),
        ]
        for name, model in found["models"].items()
    ]
    lines.append(
        [
            cell("most common class", "", "text"),
            *[cell(percent(found["majority"]), found["majority"])] * (1 + noisy),
        ]
    )
    about = (
        f"Cross-validated in {found['folds']} folds: every row is predicted by a model "
        "that has not seen it, trained on the other folds by the same procedure. "
        "± is the standard deviation between folds."
    )
    if noisy:
        about += (
            " Under the worst noise a prediction counts only if it is right and no "
            "change of the values within the row’s radius could alter it."
        )
    return (
        f"<h2>Accuracy</h2>\n<p>{about}</p>\n"
        f"{table('Accuracy', headings, lines)}\n"
        f"{figure(noise_curve(result))}\n{_classes(result, noisy)}"
    )


def _with_spread(value: dict) -> str:
    shown = f"{percent(value['mean'])} ± {100 * value['std']:.1f}"
    return cell(shown, value["mean"])


def _classes(result: dict, noisy: bool) -> str:
    best = _first_model(result)
    assert best is not None
    headings = [("class", True), ("as measured", False)]
    headings += [("under the worst noise", False)] if noisy else []
    names = ["accuracy", "certified"][: 1 + noisy]
    lines = (
        [cell(k, k, "text"), *(cell(percent(v[n]), v[n]) for n in names)]
        for k, v in best["classes"].items()
    )
    inside = table("Accuracy within each class", headings, lines)
    return f"<h3>Accuracy within each class</h3>\n{inside}"


def _choice(result: dict) -> str:
    choice = result["choice"]
    if choice is None:
        return ""
    sought = result["request"]["score_radius"]
    by = (
        "as measured" if sought is None else f"under the worst noise, radius {sought:g}"
    )
    several = len(choice["factors"]) > 1
    about = (
        f"C = {number(choice['C'])}"
        + (f" and {choice['unit']} {choice['factor']:g}" if several else "")
        + f" had the best accuracy {by}, {percent(choice['score'])} on average over "
        f"{choice['folds']} folds. The choice is made anew in every fold of the "
        "accuracies above, so that they do not flatter it."
    )
    return f"<h2>The choice of C</h2>\n<p>{about}</p>\n{figure(choice_curves(choice))}"


def _model(result: dict) -> str:
    model, binary = result["model"], len(result["model"]["scores_for"]) == 1
    if binary:
        low, high = model["classes"]
        rule = (
            f"Multiply each value by its weight, add the products and "
            f"{number(model['intercepts'][0])}. A positive score means "
            f"<strong>{escape(high)}</strong>, any other "
            f"<strong>{escape(low)}</strong>."
        )
    else:
        rule = (
            "For each class multiply each value by its weight, and add the products "
            "and the constant. The highest score wins."
        )
    return (
        f"<h2>The model, in the units of the data</h2>\n<p>{rule} Sorted by what a "
        "change of one standard deviation does to the score.</p>\n"
        f"{_weights(result, binary)}"
    )


def _weights(result: dict, binary: bool) -> str:
    model, scores = result["model"], result["model"]["scores_for"]
    spread = {f["name"]: f["std"] for f in result["data"]["features"]}
    effects = {
        name: [w * spread[name] for w in weights]
        for name, weights in model["coefficients"].items()
    }
    order = sorted(effects, key=lambda name: -max(map(abs, effects[name])))
    largest = max((abs(e) for es in effects.values() for e in es), default=0.0)
    headings = [("feature", True)]
    for label in scores:
        of = "" if binary else f", {label}"
        headings += [(f"weight{of}", False), (f"per std{of}", False)]
        headings += [("effect", True)] if binary else []

    def line(name: str) -> list[str]:
        cells = [cell(name, name, "text")]
        pairs = zip(model["coefficients"][name], effects[name], strict=True)
        for weight, effect in pairs:
            cells += [
                cell(number(weight), repr(weight)),
                cell(number(effect), repr(effect)),
            ]
            cells += [bar(effect, largest)] if binary else []
        return cells

    parts = [table("Weights", headings, map(line, order[:_SHOWN]))]
    if not binary:
        constants = zip(scores, map(number, model["intercepts"]), strict=True)
        parts.append(f"<h3>Constants</h3>\n<dl>{definitions(constants)}</dl>")
    if rest := order[_SHOWN:_FOLDED]:
        more = f"The other features{_at_most(len(order))}"
        inside = table(more, headings, map(line, rest))
        parts.append(f"<details><summary>{more}</summary>\n{inside}\n</details>")
    return "\n".join(parts)


def _proof(result: dict) -> str:
    problems = result["training"]["problems"]
    worst = max(problem["relative_gap"] for problem in problems)
    several = len(problems) > 1
    words = (
        "Training looks for the weights with the lowest objective, a balance between "
        "errors on the training rows under the worst noise and the size of the "
        "weights. These weights come with a proof: "
        f"{'for every class ' if several else ''}no others have an objective that is "
        f"lower by more than {small_share(worst)} of it. The proof covers all rows and "
        "does not rest on the solver having worked well."
    )
    screening = (
        "On the way rows were settled for good: “no influence” are those proven "
        "not to affect the model at all, “full weight” those proven to pull on it with "
        "all their weight (too close to the boundary or beyond it, given the noise). "
        "The rest are settled by the solver."
    )
    headings = [
        ("class against the rest" if several else "class", True),
        ("objective", False),
        ("proven within", False),
        ("no influence", False),
        ("full weight", False),
        ("iterations", False),
        ("noise limit", False),
    ]
    lines = (
        [
            cell(p["class"], p["class"], "text"),
            cell(f"{p['objective']:.6g}", p["objective"]),
            cell(small_share(p["relative_gap"]), p["relative_gap"]),
            cell(percent(p["removed"]), p["removed"]),
            cell(percent(p["saturated"]), p["saturated"]),
            cell(str(p["iterations"]), p["iterations"]),
            cell(*_limit(p)),
        ]
        for p in problems
    )
    return (
        f"<h2>How good the optimum is</h2>\n<p>{words}</p>\n<p>{screening} The noise "
        "limit is where noise covers all that separates the classes, and the best "
        "model ignores the features: a radius, or a multiple of the radii given.</p>\n"
        f"{table('Certificates', headings, lines)}"
    )


def _limit(problem: dict) -> tuple[str, float]:
    factor = problem["critical_factor"] is not None
    bounds = problem["critical_factor" if factor else "critical_radius"]
    if bounds[1] is None:
        return "none", math.inf
    low, high = map(number, bounds)
    shown = low if bounds[1] - bounds[0] <= 0.01 * bounds[1] else f"{low} to {high}"
    return f"{shown} times the radius" if factor else f"radius {shown}", bounds[0]


def _reproduction(result: dict) -> str:
    origin, source = result["origin"], result["source"]
    pairs: Iterable[tuple[str, object]] = [
        ("Data, SHA-256", source["sha256"]),
        *((f"Data, {name}", value) for name, value in source["details"].items()),
        ("Random seed", result["request"]["seed"]),
        *origin["versions"].items(),
        *origin["machine"].items(),
        ("Written", origin["time"]),
    ]
    return (
        "<h2>How to get this again</h2>\n<p>The same command on the same data gives "
        f"the same model.</p>\n<pre>{escape(origin['command'])}</pre>\n"
        f"<dl>{definitions(pairs)}</dl>"
    )
