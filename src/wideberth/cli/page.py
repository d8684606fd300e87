"""The report of a fit: `page.html` shows the result; here are its figures and lists."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from markupsafe import Markup, escape

from wideberth.cli import output
from wideberth.cli.advice import (
    count_suspects,
    tell_ending,
    tell_left_out,
    tell_radii,
)
from wideberth.cli.output import number, percent, whole
from wideberth.cli.result import (
    KINDS,
    Choice,
    Evaluation,
    FitResult,
    NoiseFacts,
    ProblemFacts,
    Residuals,
)
from wideberth.data.errors import counted, listed, visible
from wideberth.report.page import (
    MARKERS,
    SERIES,
    TEXT,
    Figure,
    draw_panel,
    drawing,
    plain_ticks,
    render,
)

#: Number of features and suspects that are shown; other features follow folded up.
_SHOWN = 25
#: Number of features beyond which the page leaves them out, lest it grow unwieldy.
_FOLDED = 1000
#: Number of the colour, and the line, of each model in turn.
_LINES = ((1, "-"), (3, "--"), (4, ":"), (6, "-."))
_MISSING = {
    "drop": "rows with one are left out",
    "median": "filled in with the median of the column",
    "error": "not allowed",
    "measured": "estimated from the other values of the row",
}


def fit_page(result: FitResult) -> str:
    """Return the whole document."""
    found, model = result.evaluation, result.model
    kind = "regression" if model.line else "classifier"
    effects = model.effects(result.data.spread)
    kept = [name for name in effects if name not in {*model.left_out}]
    if len(model.scores_for) == 1:
        headings = ["weight", "per std", "effect"]
        headings += ["weight without noise"] if model.line and model.line.plain else []
    else:
        pairs = ([f"weight, {s}", f"per std, {s}"] for s in model.scores_for)
        headings = [heading for pair in pairs for heading in pair]
    order = sorted(kept, key=lambda name: -max(map(abs, effects[name])))

    def with_options(text: str) -> Markup:  # so that no line breaks within them
        told = re.sub(r"--[a-z]+(-[a-z]+)*", r"<code>\g<0></code>", str(escape(text)))
        return Markup(told)

    filters: dict[str, Callable] = {
        "number": number,
        "percent": percent,
        "whole": whole,
        "interval": output.interval,
        "unbounded": output.unbounded,
        "points": output.points,
        "spread": output.spread,
        "off": output.off,
        "estimate": output.estimate,
        "scored": output.scored,
        "told_proof": output.told_proof,
        "small_share": output.small_share,
        "options": with_options,
        "tell_left_out": tell_left_out,
        "tell_ending": tell_ending,
        "count_suspects": count_suspects,
        "tell_radii": lambda gain: tell_radii(gain, result.uncertainty),
        "sentence": lambda text: f"{text[0].upper()}{text[1:]}.",
        "listed": lambda names: listed(names, _SHOWN),
    }
    return render(
        __package__,
        "page.html",
        filters,
        lambda value: visible(value) if type(value) is str else value,
        title=f"A {kind} of {result.data.target}",
        result=result,
        kinds=KINDS,
        shown=_SHOWN,
        folded_at=_FOLDED,
        infinite=math.inf,
        limit=_limit,
        critical=_critical(result),
        residual_plot=found and found.residuals and _residuals(found.residuals),
        curves=found and _noise_curves(found, result.uncertainty),
        choice_curves=result.choice and _choice_curves(result.choice),
        chosen=result.choice and _chosen(result.choice),
        effects=effects,
        order=order,
        largest=max((abs(e) for own in effects.values() for e in own), default=0.0),
        weight_headings=["feature", *headings],
        asked_for=_asked(result),
        data_facts=_data(result),
        origin=_origin(result),
    )


# -- lists -----------------------------------------------------------------------------


def _asked(result: FitResult) -> list[tuple[str, str]]:
    asked, noise, model = result.request, result.uncertainty, result.model
    features = counted(len(result.data.features), "feature")
    target = result.data.target
    if model.line is not None and model.C is not None:
        target = f"the {model.line.level} of {target}"
    pairs = [("Predict", f"{target} from {features}")]
    if result.data.task_story:
        kind = "classes" if model.line is None else "numbers"
        pairs.append((f"Taken for {kind}", result.data.task_story))
    pairs.append(("Noise", noise.story))
    if noise.per_row:
        ends = f"from {number(noise.smallest)} to {number(noise.largest)}"
        half = (
            "" if noise.median is None else f", half of them below {noise.median:.4g}"
        )
        pairs.append(("Radii of the rows", ends + half))
    if model.C is not None:
        origin = "the default" if asked.C == (1.0,) else "as given"
        if len(asked.C) != 1 or asked.prove is not None:
            origin = "chosen by cross-validation"
        about = f"{number(model.C)} ({origin})"
        if model.line is not None and model.line.scale is not None:
            about += (
                f", in units of {number(model.line.scale)}, the scatter of the target"
            )
        pairs.append(("C, the price of rows on the wrong side", about))
    if (kernel := model.kernel) is not None:
        pairs += [
            ("Kernel", f"RBF, γ = {number(kernel.gamma)} ({kernel.gamma_from})"),
            ("Landmarks", f"{kernel.landmarks} rows ({kernel.landmarks_from})"),
        ]
    if model.norm_penalty > 0:
        pairs.append(("Norm penalty, of weights", number(model.norm_penalty)))
    if model.ramp is not None:
        level = number(model.ramp)
        about = f"may be wrong: below the margin {level} the loss of a row is constant"
        pairs.append(("Labels", about))
    scaled = asked.standardize or result.measured
    gaps = "measured" if asked.measured else asked.missing or "drop"
    known = [f"those of {asked.weight_column}"] if asked.weight_column else []
    even = ["every class has the same total weight"] if asked.class_weight else []
    weights = ", ".join([*known, *even]) or "every row counts the same"
    pairs += [
        ("Features", "standardised for training" if scaled else "as given"),
        ("Missing values", _MISSING[gaps]),
        ("Classes" if model.line is None else "Rows", weights),
    ]
    if asked.drop:
        pairs.append(("Columns left out", ", ".join(asked.drop)))
    return pairs


def _data(result: FitResult) -> list[tuple[str, str]]:
    data, noise = result.data, result.uncertainty
    holes = [f"{name} ({n})" for name, n in data.missing_values.items()]
    pairs = [
        ("Source", result.source.name),
        ("Rows read", whole(data.rows_read)),
        (
            f"Rows without a {'target' if data.numbers else 'label'}",
            whole(data.rows_without_label),
        ),
        ("Rows left out, values missing", whole(data.rows_dropped)),
        ("Rows used", whole(data.rows_used)),
        ("Missing values", ", ".join(holes) if holes else "none"),
    ]
    if (own := data.numbers) is not None:
        about = f"{number(own.min)} to {number(own.max)}, mean {number(own.mean)}"
        pairs.append(("Target", f"{about}, standard deviation {number(own.std)}"))
        if own.error is not None:
            pairs.append(("Errors of the target, median", number(own.error)))
    if noise.samples is not None:
        once = noise.samples_measured_once
        about = f"{noise.samples} from {noise.readings} measurements"
        pairs.append(("Samples", about + (f", {once} measured once" if once else "")))
    return pairs


def _origin(result: FitResult) -> list[tuple[str, object]]:
    return [
        ("Data, SHA-256", result.source.sha256),
        *((f"Data, {name}", value) for name, value in result.source.details.items()),
        ("Random seed", result.request.seed),
        *result.origin.versions.items(),
        *result.origin.machine.items(),
        ("Written", result.origin.time),
    ]


def _chosen(choice: Choice) -> list[str]:
    """What was chosen, from what."""
    chosen = [f"C = {number(choice.C)}"]
    for name, (value, tried) in choice.made.items():
        among = ", ".join(f"{one:g}" for one in tried)
        of = "" if name == choice.unit else f" (of {among})"
        chosen.append(f"{name} {value:g}{of}")
    return chosen


# -- sentences -------------------------------------------------------------------------


def _critical(result: FitResult) -> str:
    """Say what the critical radius is, of the class that is lost first."""
    problems, noise = result.training.problems, result.uncertainty
    numbers = result.model.line is not None
    known = [(one, one.limits) for one in problems if one.limits is not None]
    if len(known) < len(problems):
        return ""
    lost = [(one, limits) for one, limits in known if limits[1] < math.inf]
    if not problems:
        return ""
    if not lost:
        what = "predict the number" if numbers else "separate the classes"
        return (
            f"There is none: features without noise {what}, however large the noise of "
            "the others."
        )
    first, limits = min(lost, key=lambda pair: pair[1][0])
    of = "It is"
    if len(problems) > 1:
        of = f"It is smallest for the class {first.class_}:"
    where = f"{_limit(first, noise)[0]} {noise.unit}"
    if first.critical_factor is not None and not noise.per_row:
        where += f", {_between(limits)} times the training radius"
    what = "predicts the number" if numbers else "separates the classes"
    return (
        f"{of} {where}. Noise of that size hides all that {what}, and the best model "
        "ignores the features. Choose a radius well below it."
    )


def _limit(problem: ProblemFacts, noise: NoiseFacts) -> tuple[str, float | str]:
    """The critical radius of a problem, as it is shown and as it is sorted by."""
    limits = problem.limits
    if limits is None or limits[1] == math.inf:
        return "none", "Infinity"
    if problem.critical_factor is None:
        return _between(limits), limits[0]
    if noise.per_row:
        return f"{_between(limits)} × that of the row", limits[0]
    return _between(limits, noise.largest), limits[0]


def _between(bounds: tuple[float, float], unit: float = 1.0) -> str:
    low, high = (number(unit * bound) for bound in bounds)
    return low if bounds[1] - bounds[0] <= 0.01 * bounds[1] else f"{low} to {high}"


# -- figures ---------------------------------------------------------------------------


def _figure(name, title, caption, draw, label, legend) -> Figure:
    """A figure of one panel."""
    with drawing():
        panel = draw_panel(name, "", draw, (4.8, 3.1), label)
    return Figure(name, title, caption, [panel], legend, wide=True)


def _noise_curves(found: Evaluation, noise: NoiseFacts) -> Figure | None:
    """Scores under worst noise over the radius; None where there is no noise."""
    radii, names = found.radii, list(found.called.values())
    curves = [model.curve for model in found.models.values() if model.curve is not None]
    if radii is None:
        return None
    classes = found.majority is not None

    def draw(axes) -> None:
        for (k, style), curve in zip(_LINES, curves, strict=False):
            colour = SERIES[k - 1]
            if curve is curves[0]:
                band = {"color": colour, "alpha": 0.15, "lw": 0}
                axes.fill_between(radii, curve.low, curve.high, **band)
            axes.plot(radii, curve.mean, color=colour, ls=style)
        if found.majority is not None:
            axes.axhline(found.majority, color=TEXT, lw=0.8, ls=":")
        if noise.asked:
            axes.axvline(noise.asked, color=TEXT, lw=0.8)
        axes.set(
            xlabel=f"radius of the worst noise, {noise.unit}",
            ylabel=f"{found.measure} under the worst noise",
            xlim=(0, radii[-1]),
        )
        if classes:
            axes.set(ylim=(0, 1.02))

    upright = (
        "the median radius of the rows" if noise.per_row else "the radius asked for"
    )
    upright = f" The vertical line is {upright}" if noise.asked else ""
    if found.majority is not None:
        over = ", in the mean over the classes" if found.balanced else ""
        always = "same" if found.balanced else "most common"
        caption = (
            f"The share of unseen rows that stay right under all noise of that radius"
            f"{over}. The band spans the folds of this model."
            f"{f'{upright}, and the' if upright else ' The'} dotted line is what "
            f"always naming the {always} class achieves."
        )
    else:
        caption = (
            f"The {found.measure} of unseen rows under the worst noise of that radius. "
            f"The band spans the folds of this model.{upright and f'{upright}.'}"
        )
    told = []
    for name, curve in zip(names, curves, strict=True):
        pairs = list(zip(curve.mean, radii, strict=True))[::15]
        shares = [
            f"{output.scored(share, found.measure)} at {number(radius)}"
            for share, radius in pairs
        ]
        told.append(f"{name}: {', '.join(shares)}")
    what = "Certified accuracy" if classes else "Worst error"
    label = f"{what} as the radius grows. " + "; ".join(told)
    legend = [(k, name) for (k, _), name in zip(_LINES, names, strict=False)]
    title = f"{found.measure.capitalize()} as the noise grows"
    return _figure("certified", title, caption, draw, label, legend)


def _residuals(shown: Residuals) -> Figure:
    """Residuals of rows left out, against what was predicted."""

    def draw(axes) -> None:
        dots = {"s": 7, "alpha": 0.5, "color": SERIES[0], "linewidths": 0}
        axes.scatter(shown.predictions, shown.residuals, **dots)
        axes.axhline(0, color=TEXT, lw=0.8)
        axes.set(xlabel="prediction", ylabel="number minus prediction")

    caption = (
        "Every dot is a row that the model had not seen. A bend means that a straight "
        "line does not fit; a funnel, that large predictions are less precise."
    )
    far = max(shown.residuals, key=abs)
    label = f"Residuals against predictions; the largest is {number(far)}."
    title = "Residuals against predictions"
    return _figure("residuals", title, caption, draw, label, [])


def _choice_curves(choice: Choice) -> Figure:
    chosen = choice.factors.index(choice.factor)
    others = [k for k in range(len(choice.factors)) if k != chosen]
    shown = sorted([chosen, *others[: len(SERIES) - 1]])

    def draw(axes) -> None:
        for colour, marker, k in zip(SERIES, MARKERS, shown, strict=False):
            line = {"color": colour, "marker": marker, "markersize": 3}
            axes.plot(choice.Cs, choice.scores[k], **line)
        if proof is not None:
            bounds = [1 - bound if share else bound for bound in proof.bounds]
            axes.stairs(bounds, proof.edges, color=SERIES[1], baseline=None)
        axes.axvline(choice.C, color=TEXT, lw=0.8)
        judged = f"mean {choice.measure.removeprefix('mean ')} over the folds"
        axes.set(xscale="log", xlabel="C", ylabel=judged)
        plain_ticks(axes.xaxis)

    proof, share = choice.proof, choice.measure.endswith("accuracy")
    title = f"{choice.measure.capitalize()} over C"
    best = output.scored(choice.score, choice.measure)
    label = f"{title}. The best is {best} at C {number(choice.C)}."
    names = [f"{choice.unit} {choice.factors[k]:g}" for k in shown]
    legend = list(enumerate(names, 1)) if len(shown) > 1 else []
    about = "The vertical line is the choice."
    if proof is not None:
        legend = [(1, "found"), (2, "no C is better")]
        about += " No exact optimum is better than the steps."
    return _figure("choice-of-C", title, about, draw, label, legend)
