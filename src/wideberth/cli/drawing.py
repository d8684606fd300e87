"""Figures of the report."""

from __future__ import annotations

from wideberth.cli.output import number, percent
from wideberth.report.figures import (
    MARKERS,
    SERIES,
    TEXT,
    Figure,
    draw_panel,
    drawing,
    plain_ticks,
)

__all__ = ["MODELS", "choice_curves", "noise_curve"]

#: What the models of an evaluation are called.
MODELS = {"robust": "this model", "ordinary": "ordinary SVM"}


def noise_curve(result: dict) -> Figure:
    """Certified accuracy as the radius grows."""
    found, uncertainty = result["evaluation"], result["uncertainty"]
    radii, names = found["radii"], list(found["models"])

    def draw(axes) -> None:
        for k, name in enumerate(names):
            curve, colour = found["models"][name]["curve"], SERIES[(0, 2)[k]]
            axes.fill_between(
                radii, curve["low"], curve["high"], color=colour, alpha=0.15, lw=0
            )
            axes.plot(radii, curve["mean"], color=colour, ls=("-", "--")[k])
        axes.axhline(found["majority"], color=TEXT, lw=0.8, ls=":")
        if uncertainty["median"] > 0:
            axes.axvline(uncertainty["median"], color=TEXT, lw=0.8)
        axes.set(
            xlabel=f"radius of the worst noise, {uncertainty['unit']}",
            ylabel="certified accuracy",
            xlim=(0, radii[-1]),
            ylim=(0, 1.02),
        )

    upright = "median radius of the rows" if uncertainty["per_row"] else ""
    upright = f" The upright line is the {upright or 'radius trained with'}, and the"
    caption = (
        "The share of unseen rows that stay right under every change of that size; "
        f"bands span the folds.{upright if uncertainty['median'] > 0 else ' The'} "
        "dotted line is what always naming the most common class achieves."
    )
    legend = [((1, 3)[k], MODELS[name]) for k, name in enumerate(names)]
    title = "How much noise it withstands"
    return _figure("certified", title, caption, draw, _in_words(result), legend)


def _figure(name, title, caption, draw, label, legend) -> Figure:
    with drawing():
        panel = draw_panel(name, "", draw, (4.8, 3.1), label)
    return Figure(name, title, caption, [panel], legend, wide=True)


def _in_words(result: dict) -> str:
    found = result["evaluation"]
    points = range(0, len(found["radii"]), 15)
    parts = []
    for name, model in found["models"].items():
        pairs = [(model["curve"]["mean"][k], found["radii"][k]) for k in points]
        shares = [f"{percent(share)} at {number(radius)}" for share, radius in pairs]
        parts.append(f"{MODELS[name]}: {', '.join(shares)}")
    return "Certified accuracy as the radius grows. " + "; ".join(parts)


def choice_curves(choice: dict) -> Figure:
    """Cross-validated accuracy over C, for each radius."""
    chosen = choice["factors"].index(choice["factor"])
    others = [k for k in range(len(choice["factors"])) if k != chosen]
    shown = sorted([chosen, *others[: len(SERIES) - 1]])

    def draw(axes) -> None:
        for colour, marker, k in zip(SERIES, MARKERS, shown, strict=False):
            line = {"color": colour, "marker": marker, "markersize": 3}
            axes.plot(choice["Cs"], choice["scores"][k], **line)
        axes.axvline(choice["C"], color=TEXT, lw=0.8)
        axes.set(xscale="log", xlabel="C", ylabel="mean accuracy over the folds")
        plain_ticks(axes.xaxis)

    best = max(choice["scores"][chosen])
    label = f"Accuracy over C. The best is {percent(best)} at C {number(choice['C'])}."
    names = [f"{choice['unit']} {choice['factors'][k]:g}" for k in shown]
    legend = list(enumerate(names, 1)) if len(shown) > 1 else []
    about = "The upright line is the choice."
    return _figure("choice-of-C", "Accuracy over C", about, draw, label, legend)
