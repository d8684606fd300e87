"""Warnings in plain words: what a careful colleague would say about a fit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from wideberth.cli.measured import tell_pairs
from wideberth.data.errors import agree, counted, listed

#: Smallest share of the critical radius at which it is said to be near.
_NEAR = 0.7
#: Largest share of rows left out that goes without saying.
_DROPPED = 0.05
#: Smallest share of a rare class that goes without saying, of that it would have if
#: all were equal, halved.
_RARE = 0.2
#: Largest ratio of the spreads of two features that goes without saying.
_UNEQUAL = 100.0


@dataclass(frozen=True)
class Advice:
    """A warning; `serious` ones mean that the model should not be used as it is."""

    code: str
    text: str
    serious: bool = False


def advise(result: dict) -> list[Advice]:
    """Everything worth saying, the most serious first."""
    parts = (
        *(_optimality, _leaks, _noise, _labels, _errors, _population, _data),
        _scales,
    )
    found = [advice for part in parts for advice in part(result)]
    return sorted(found, key=lambda advice: not advice.serious)


def _optimality(result: dict) -> Iterator[Advice]:
    problems, tol = result["training"]["problems"], result["training"]["tol"]
    constant = all(problem["null"] for problem in problems)
    noise, smaller = "noise of this size covers", "radius"
    if result["model"]["norm_penalty"] > 0:
        noise, smaller = "noise and --norm-penalty outweigh", "--norm-penalty or radius"
    if result["model"]["ramp"] is not None:
        noise, smaller = "noise, or rows left out, cover", f"--ramp or {smaller}"
    yield from _unproven(problems, tol)
    if constant:
        yield Advice(
            "null-model",
            "The model ignores the features and always gives the same answer: "
            f"{noise} what separates the classes. Choose a smaller {smaller}.",
            serious=True,
        )
        return
    if ignored := [problem["class"] for problem in problems if problem["null"]]:
        yield Advice(
            "null-class",
            f"The {_scores(ignored)} the features: no straight boundary sets such a "
            "class apart from all others under noise of this size. It may still win "
            "where the others score low.",
        )
    shares = {p["class"]: _share_of_critical(p) for p in problems if not p["null"]}
    near = {label: share for label, share in shares.items() if share >= _NEAR}
    if near:
        which = f" for {listed(near)}" if len(problems) > 1 else ""
        share = "–".join(dict.fromkeys(f"{100 * f(near.values()):.0f}"
                                       for f in (min, max)))  # fmt: skip
        yield Advice(
            "near-critical",
            f"The radius is {share} % of the critical one{which}, from which on noise "
            "covers everything that separates the classes. The model leans on very "
            "little; consider a smaller radius.",
        )


def _scores(labels: list[str]) -> str:
    n = len(labels)
    classes = f"{agree(n, 'score', 'scores')} of the {agree(n, 'class', 'classes')}"
    return f"{classes} {listed(labels)} {agree(n, 'ignores', 'ignore')}"


def _share_of_critical(problem: dict) -> float:
    """What share the radius is of the critical one, at least."""
    limit = problem["critical_factor"]
    return 1 / limit[1] if limit and limit[1] else 0.0


def _unproven(problems: list[dict], tol: float) -> Iterator[Advice]:
    """What is said of training that ended without a proof."""
    open_ = [problem for problem in problems if not problem["converged"]]
    rounding = [problem for problem in open_ if problem["relative_gap"] <= tol]
    short = [problem for problem in open_ if problem not in rounding]

    def which(some: list[dict]) -> str:
        names = listed([problem["class"] for problem in some])
        classes = agree(len(some), "class", "classes")
        return f" for the {classes} {names}" if len(problems) > 1 else ""

    if rounding:
        yield Advice(
            "not-proven",
            f"Training{which(rounding)} ended within the tolerance, but rounding is "
            "too large to prove it. Standardise the features (--standardize), or raise "
            "--tol.",
            serious=True,
        )
    if short:
        gap = max(problem["relative_gap"] for problem in short)
        yield Advice(
            "not-converged",
            f"Training{which(short)} stopped before the tolerance was proven: the "
            f"objective may still be improved by up to {100 * gap:.2g} %. "
            "Standardising the features (--standardize) usually helps.",
            serious=True,
        )


def _noise(result: dict) -> Iterator[Advice]:
    uncertainty, training = result["uncertainty"], result["training"]
    if uncertainty.get("precision_differs"):
        yield Advice(
            "precision-differs",
            "The replicates of some samples spread more than chance explains if all "
            "are measured with the same precision. In Python "
            "wideberth.errors.from_replicates gives each sample errors of its own.",
        )
    if training["training_accuracy"] == 1 and not result["data"]["leaks"]:
        trust = ""
        if result["evaluation"] is not None:
            trust = "; trust the cross-validated numbers, and more so the more rows"
            trust += " there are"
        beyond = training["training_certified"] == 1 and uncertainty["largest"] > 0
        yield Advice(
            "separable",
            "The classes are separable: a straight boundary tells all the training "
            f"rows apart{', under the worst noise too' if beyond else ''}. Training "
            f"accuracy then says nothing{trust}.",
        )


def _labels(result: dict) -> Iterator[Advice]:
    found = (result["suspects"] or {}).get("rows") or ()
    doubted = Counter(one["given"] for one in found)
    given = result["request"]["class_weight"] == "balanced"
    more = "" if given else "--class-weight balanced, "
    for label, n in doubted.items():
        if 2 * n > (total := result["data"]["classes"][label]):
            yield Advice(
                "class-disbelieved",
                f"The model disbelieves {n} of {total} rows of the class {label}: it "
                "may have given the class up rather than found wrong labels. Try "
                f"{more}a lower --ramp, or leave out --ramp.",
            )


def _errors(result: dict) -> Iterator[Advice]:
    uncertainty, data = result["uncertainty"], result["data"]
    if text := tell_pairs(data["undeclared_errors"]):
        yield Advice("error-columns", text)
    errors = uncertainty.get("errors") or {}
    spread = {f["name"]: f["std"] for f in data["features"]}
    if lost := [name for name, error in errors.items() if error > spread[name] > 0]:
        yield Advice(
            "errors-exceed-spread",
            f"Half of the errors of {listed(lost)} are larger than the standard "
            "deviation of the values themselves: such a feature tells little, and "
            "training will hardly use it.",
        )
    effects = {
        name: spread[name] * max(map(abs, weights))
        for name, weights in result["model"]["coefficients"].items()
    }
    first = max(effects, key=lambda name: effects[name])
    if errors and first in uncertainty["exact"] and effects[first] > 0:
        yield Advice(
            "leans-on-exact",
            f"The model leans most on {listed([first])}, which has no errors and "
            "counts as exact. If it is not, give its errors: training prefers what it "
            "can trust.",
        )
    if filled := uncertainty.get("errors_filled_in"):
        yield Advice(
            "errors-filled-in",
            f"{counted(filled, 'value')} had no error and "
            f"{agree(filled, 'was', 'were')} given one by absent= of --errors.",
        )


def _population(result: dict) -> Iterator[Advice]:
    notes = " ".join(result["solver_notes"]) if result["verdicts"] else ""
    if "no such tails" in notes:
        yield Advice(
            "far-values",
            "Some values are much further out than their errors and the middle half of "
            "their column explain, and a population of Gaussians has no such tails. "
            "Take logarithms of skewed columns, or name codes for missing values "
            "with --read na=….",
        )
    if misfit := result.get("misfit"):
        yield Advice(
            "population-misfit",
            f"A population of Gaussians does not fit these measurements: {misfit}. "
            "Chances and verdicts rest on it. Take logarithms of skewed columns, or "
            "fit MeasuredSVC with a larger n_components in Python.",
        )
    if "EM has not converged" in notes:
        yield Advice(
            "population-unsettled",
            "Learning the population had not settled when it was stopped; verdicts may "
            "be somewhat off. Fewer features (--drop) or more rows help.",
        )
    if result["verdicts"] and result["worth"]["as_measured"] == "worse":
        remedy = "Leave out --model measured for this table."
        if result["uncertainty"]["largest"] > 0:
            remedy = (
                "Protection against what errors leave open may cost more than it "
                "brings: try --radius 0, or choose with --radius 0,0.5,1."
            )
        yield Advice(
            "model-harms",
            "On rows left out, an ordinary SVM that ignores errors and gaps was more "
            f"accurate. {remedy}",
        )


def _data(result: dict) -> Iterator[Advice]:
    data, counts = result["data"], result["data"]["classes"]
    rare, total = min(counts, key=counts.get), sum(counts.values())
    if counts[rare] * len(counts) / total / 2 < _RARE:
        yield Advice(
            "imbalance",
            f"The class {rare} is rare: {counts[rare]} of {total} rows. "
            f"{_of_imbalance(result)}",
        )
    if result["evaluation"] is None and result["request"]["folds"] > 0:
        yield Advice(
            "no-cross-validation",
            f"The class {rare} has a single row, so nothing could be cross-validated: "
            "how accurate the model is on new rows is unknown.",
        )
    yield from _left_out(data)
    if filled := data["values_filled_in"]:
        them = agree(filled, "was filled in with the median of its column, and counts "
                     "as if it", "were filled in with the median of their column, and "
                     "count as if they")  # fmt: skip
        yield Advice(
            "filled-in",
            f"{counted(filled, 'missing value')} {them} had been measured.",
        )


def _of_imbalance(result: dict) -> str:
    """What to do about a rare class, beyond what was done."""
    found, counts = result["evaluation"], result["data"]["classes"]
    if result["request"]["class_weight"] == "balanced":
        judged = ""
        if found is not None:
            judged = ", and every class counts the same in the accuracies"
        return (
            f"--class-weight balanced makes up for it in training{judged}. What is "
            "said of a rare class rests on few rows."
        )
    within = "" if found is None else "look at the accuracy within each class, "
    share = 100 * max(counts.values()) / sum(counts.values())
    return (
        f"Always naming the most common class is right in {share:.1f} % of cases, so "
        f"compare accuracies with that, {within}and consider --class-weight balanced."
    )


def _left_out(data: dict) -> Iterator[Advice]:
    """What is said of rows that were not used, for either reason."""
    read = data["rows_read"]
    if (dropped := data["rows_dropped"]) > _DROPPED * read:
        yield Advice(
            "rows-dropped",
            f"{dropped} of {counted(read, 'row')} {agree(dropped, 'was', 'were')} left "
            "out because values are missing. If "
            "values are missing for a reason, what is left is not a fair sample; "
            "--missing median fills such values in, and --model measured learns from "
            "those that are there.",
        )
    if (unlabelled := data["rows_without_label"]) > _DROPPED * read:
        why = agree(unlabelled, "was left out because it has",
                    "were left out because they have")  # fmt: skip
        yield Advice(
            "rows-without-label",
            f"{unlabelled} of {counted(read, 'row')} {why} no class. If "
            "classes are missing for a reason, what is left is not a fair sample.",
        )


def _leaks(result: dict) -> Iterator[Advice]:
    """Columns that tell the classes apart alone."""
    leaks = result["data"]["leaks"]
    kinds = {False: "", True: "Whether a value is missing in "}
    for gaps, begun in kinds.items():
        own = {one["feature"]: one["auc"] for one in leaks if one["gaps"] == gaps}
        if not own:
            continue
        verb = agree(1 if gaps else len(own), "tells", "tell")
        alone = "" if gaps else f" {'each ' if len(own) > 1 else ''}alone"
        yield Advice(
            "leak",
            f"{begun}{listed(own)}{alone} {verb} the classes apart (AUC "
            f"{max(own.values()):.4g}, where 1 is never wrong). What was entered or "
            "measured after the class was known gives the answer away, and accuracies "
            "are then worth nothing: leave it out with --drop.",
        )


def _scales(result: dict) -> Iterator[Advice]:
    features, uncertainty = result["data"]["features"], result["uncertainty"]
    if constant := [f["name"] for f in features if f["min"] == f["max"]]:
        n = len(constant)
        yield Advice(
            "constant",
            f"{listed(constant)} never {agree(n, 'varies', 'vary')} and so "
            f"{agree(n, 'carries', 'carry')} no information; leave "
            f"{agree(n, 'it', 'them')} out with --drop.",
        )
    if counters := result["data"]["row_counters"]:
        n = len(counters)
        what = agree(n, "it is an index and no measurement, leave it",
                     "they are indices and no measurements, leave them")  # fmt: skip
        yield Advice(
            "row-counter",
            f"{listed(counters)} {agree(n, 'counts', 'count')} the rows. If {what} out "
            "with --drop: a model must not learn from the order of the file.",
        )
    measured = [f for f in features if not f["category"]]
    spread = {f["name"]: f["std"] for f in measured if f["min"] != f["max"]}
    if not spread:
        return
    wide, narrow = (f(spread, key=spread.__getitem__) for f in (max, min))
    if not spread[wide] > _UNEQUAL * spread[narrow]:
        return
    ratio = spread[wide] / spread[narrow] if spread[narrow] > 0 else math.inf
    uneven = f"{listed([wide])} varies {ratio:.0f} times as much as {listed([narrow])}"
    dominate = not (
        result["request"]["standardize"] or result["request"]["model"] == "measured"
    )
    if dominate:
        yield Advice(
            "scales",
            f"{uneven}. Without --standardize the features with large numbers "
            "dominate the model, whatever they are worth.",
        )
    if uncertainty["isotropic"] and uncertainty["largest"] > 0:
        less = "" if dominate else f", which varies {ratio:.0f} times less"
        yield Advice(
            "isotropic",
            f"The radius allows the same error in {listed([wide])} as in "
            f"{listed([narrow])}{less}. Give the noise of each feature with "
            "--noise FILE, or count it in standard deviations with --radius 0.1std.",
        )
