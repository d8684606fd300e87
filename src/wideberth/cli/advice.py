"""What a careful colleague would say about a fit: did it pay, and what to mind.

What was asked for beyond an ordinary model pays if it is ahead of both ordinary ones,
the one with the same C and the one whose C is tuned: more accurate on rows left out, on
the data as given or under worst-case noise, beyond what chance explains
(`evaluation.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from wideberth.cli import output
from wideberth.cli.output import interval, number, points, unbounded
from wideberth.cli.result import (
    KINDS,
    Advice,
    Evaluation,
    Finding,
    FitResult,
    Gain,
    LineFacts,
    ModelFacts,
    NoiseFacts,
    ProblemFacts,
    RadiusGain,
    Suspects,
    VerdictFacts,
    Worth,
)
from wideberth.cli.uncertainty import tell_pairs
from wideberth.data.errors import agree, counted, listed

#: Smallest share of the critical radius at which it is said to be near.
_NEAR = 0.7
#: Largest share of rows left out that goes without saying.
_DROPPED = 0.05
#: Smallest share of a rare class that goes without saying, of that it would have if
#: all were equal, halved.
_RARE = 0.2
#: Fewest rows beyond a quantile that go without saying (a choice).
_BEYOND = 10.0
#: Largest ratio of the spreads of two features that goes without saying.
_UNEQUAL = 100.0


#: What `MeasuredRegressor` remarks on, in its words and in those of the command line.
_ABOUT_LINES = (
    (
        "so far off turns the line",
        "far-values",
        "Some values lie much further out than their errors and the middle half of "
        "their column explain, and one alone can turn the line. Take logarithms of "
        "skewed columns (--log), give such values larger errors, or name codes for "
        "missing values with --read na=….",
    ),
    (
        "scatter less than X_err says",
        "errors-too-large",
        "Some features scatter less than their errors say. That makes slopes too "
        "steep: give smaller errors.",
    ),
    (
        "y scatters less",
        "target-errors-too-large",
        "The target scatters less about the line than the errors say. That makes "
        "intervals and standard errors wrong: give smaller errors.",
    ),
    (
        "has heavy tails",
        "heavy-tails",
        "The scatter about the line has heavy tails, so slopes are less precise than "
        "they could be. In Python use MeasuredRegressor(loss='absolute').",
    ),
    (
        "One Gaussian does not fit",
        "population-misfit",
        "A Gaussian does not fit the true features. Slopes and intervals hold all the "
        "same; predictions may be better in Python with TrueFeatures(2) before a "
        "RobustLinearRegressor.",
    ),
)


#: Why a descent ended, by `RampDescent.ending`.
_ENDINGS = {
    "repeats": "the same rows were left out again",
    "stalls": "a step gained almost nothing",
    "cut short": "it was cut short; more steps may find a better model",
}


# -- did it pay? -----------------------------------------------------------------------

_KERNEL = "the kernel"
_HOW = "--radius, --noise, --errors or --replicates"
_WORDS = {
    "better": "more accurate",
    "worse": "less accurate",
    "even": "no measurable difference",
}
#: Standard errors that two slopes differ by where it is said which one errors flatten.
_APART = 2.0
_WHERE = ("on the data as given", "under worst-case noise")


def judge_worth(
    model: ModelFacts,
    noise: NoiseFacts,
    evaluation: Evaluation | None,
    verdicts: VerdictFacts | None,
) -> Worth:
    """A plain verdict, and what was found."""
    subject, curved = _subject(model, noise, verdicts), model.kernel is not None
    if not (subject or curved):
        what = "an ordinary SVM"
        if model.line is not None:
            what = (
                "an ordinary median regression"
                if model.line.quantile == 0.5
                else f"an ordinary regression of the quantile {model.line.quantile:g}"
            )
        return Worth(
            f"This is {what}.",
            "It expects no noise, so there is no robustness to judge; "
            f"{_HOW} say how far values may be off.",
        )
    last = _tell_slopes(model) if noise.errors is not None else ""
    if evaluation is None:
        both = " and ".join(filter(None, [_KERNEL * curved, subject]))
        why = ["There was no cross-validation.", last]
        return Worth(f"Whether {both} paid is not known.", " ".join(filter(None, why)))
    kinds = KINDS[: 1 if noise.asked is None else 2]
    if subject and noise.asked is not None and noise.largest == 0:
        last = "Cross-validation chose radius 0."

    def judged(what: str, *rivals: str) -> tuple[str, list[Finding | None]]:
        found = [_finding(evaluation, kind, rivals) for kind in kinds]
        return _tell_worth(what, model, evaluation, found), [*found, None][:2]

    none: list[Finding | None] = [None, None]
    curve = own = "", none
    if curved:
        curve = judged(_KERNEL, "line")
    if subject:
        own = judged(subject, "ordinary", "tuned")
    verdict, *detail = filter(None, [curve[0], own[0], last])
    return Worth(verdict, " ".join(detail), *own[1], *curve[1])


def _tell_worth(
    subject: str,
    model: ModelFacts,
    evaluation: Evaluation,
    found: list[Finding],
) -> str:
    """A sentence: whether it paid, and what was found."""
    paid, line = "paid" if "better" in found else "did not pay", model.line
    if line is not None and line.slopes:
        paid += " for predictions"
    told = f"{subject} {paid}: {_tell_findings(found)}."
    if _useless(evaluation, "as_measured"):
        always = "naming one class" if line is None else "predicting one number"
        told = f"{subject} did not pay: the model is no better than always {always}."
    return told[0].upper() + told[1:]


def tell_radii(gain: RadiusGain, noise: NoiseFacts) -> str:
    """What a kernel costs, or brings, in certified radius."""
    own, line = (
        number(one) if math.isfinite(one) else "any size"
        for one in (gain.own, gain.line)
    )
    ends = f"{100 * gain.confidence:g} % interval {interval(gain.low, gain.high)}"
    return (
        "Half of the rows left out stay right under all noise up to "
        f"{own} {noise.unit}, with a straight boundary up to {line}; the median "
        f"of the differences, row by row, is {unbounded(gain.median)} ({ends})."
    )


def _tell_slopes(model: ModelFacts) -> str:
    """Which slope errors flatten most; empty where none is known to differ.

    In standard errors of the slope of true features.
    """
    slopes = (model.line and model.line.slopes) or {}
    apart = {
        name: abs(one.value - one.ignoring_errors) / one.error
        for name, one in slopes.items()
        if one.error > 0
    }
    if not apart:
        return ""
    name = max(apart, key=apart.__getitem__)
    if not apart[name] > _APART:
        return "Ignoring the errors would change no slope by more than chance."
    one = slopes[name]
    return (
        f"If errors were ignored, the slope of {listed([name])} would be "
        f"{output.estimate(one.ignoring_errors, one.ignoring_error)} instead of "
        f"{output.estimate(one.value, one.error)}."
    )


def _subject(
    model: ModelFacts, noise: NoiseFacts, verdicts: VerdictFacts | None
) -> str:
    """What was asked for beyond an ordinary model; empty if nothing was."""
    if verdicts is not None or (model.line is not None and model.line.slopes):
        known = "gaps" if noise.errors is None else "errors"
        return f"modelling the {known}"
    parts = {
        "robustness": noise.largest > 0 or noise.asked is not None,
        "the norm penalty": model.norm_penalty > 0,
        "allowing for wrong labels": model.ramp is not None,
    }
    return " and ".join(name for name, there in parts.items() if there)


def _useless(found: Evaluation, kind: str) -> bool:
    """Whether the model is no better than always giving one answer.

    A model that ignores its features withstands any noise, and is of no use.
    """
    own = getattr(found.own, kind).mean
    if found.majority is None:
        return not own < getattr(found.models["constant"], kind).mean
    return not own > found.majority


def _finding(
    found: Evaluation,
    kind: str,
    rivals: tuple[str, ...],
) -> Finding:
    """Better than all rivals, and than one answer for all; worse than some; even."""
    gains: list[Gain] = [
        getattr(own, kind) for name, own in found.gains.items() if name in rivals
    ]
    sign = 1 if found.majority is not None else -1  # low errors are good
    ends = [sorted((sign * g.low, sign * g.high)) for g in gains]
    if all(low > 0 for low, _ in ends) and not _useless(found, kind):
        return "better"
    return "worse" if any(high < 0 for _, high in ends) else "even"


def _tell_findings(found: list[Finding]) -> str:
    """What was found, what is better first, what is even last."""
    told = [_WORDS[one] for one in found]
    if len(found) == 1:
        return told[0]
    if found[0] == found[1]:
        joint = " or " if found[0] == "even" else " and "
        return f"{told[0]}, {joint.join(_WHERE)}"
    order = ("better", "worse", "even")
    first, last = sorted((0, 1), key=lambda k: order.index(found[k]))
    mark = ";" if found[last] == "even" else ","
    return f"{told[first]} {_WHERE[first]}{mark} {told[last]} {_WHERE[last]}"


# -- what to mind ----------------------------------------------------------------------


def advise(result: FitResult) -> tuple[Advice, ...]:
    """Everything worth saying, the most serious first."""
    parts = (_proof, _fit, _curve, _columns, _scales, _errors, _population, _rows)
    found = [advice for part in parts for advice in part(result)]
    return tuple(sorted(found, key=lambda advice: not advice.serious))


def _proof(result: FitResult) -> Iterator[Advice]:
    """Training that ended without a proof."""
    problems, tol = result.training.problems, result.training.tol
    several = len(problems) > 1
    open_ = [problem for problem in problems if not problem.converged]
    which = f" of {listed(one.class_ for one in open_)}" if several else ""
    gap = max((problem.relative_gap for problem in open_), default=0.0)
    if open_ and gap <= tol:
        yield Advice(
            "not-proven",
            f"Training{which} ended within the tolerance, but rounding is too large to "
            "prove it. Standardise the features (--standardize), or raise --tol.",
            serious=True,
        )
    elif open_:
        yield Advice(
            "not-converged",
            f"Training{which} stopped before the tolerance was proven: the objective "
            f"may still be lowered by up to {100 * gap:.2g} %. Standardising the "
            "features (--standardize) usually helps.",
            serious=True,
        )


def _fit(result: FitResult) -> Iterator[Advice]:
    """A model that uses little of the data, or all of it."""
    model, training, problems = result.model, result.training, result.training.problems
    numbers = model.line is not None
    apart = "predicts the number" if numbers else "separates the classes"
    if problems and all(problem.null for problem in problems):
        noise, smaller = "noise of this size hides", "radius"
        if model.norm_penalty > 0:
            noise, smaller = (
                "noise and --norm-penalty outweigh",
                "--norm-penalty or radius",
            )
        if model.ramp is not None:
            noise, smaller = "noise, or rows left out, hide", f"--ramp or {smaller}"
        factors = [one.critical_factor for one in problems]
        choose = f"a smaller {smaller}"
        if smaller == "radius" and all(factors) and not result.uncertainty.per_row:
            most = max(own[0] for own in factors if own) * result.uncertainty.largest
            unit = result.uncertainty.unit
            choose = f"a radius below the critical one, {number(most)} {unit}"
        yield Advice(
            "null-model",
            "The model ignores the features and always gives the same answer: "
            f"{noise} what {apart}. Choose {choose}.",
            serious=True,
        )
        return
    if ignored := [problem.class_ for problem in problems if problem.null]:
        yield Advice(
            "null-class",
            f"For {listed(ignored)} the score ignores the features: no "
            f"{'straight ' if model.kernel is None else ''}boundary separates such a "
            "class from all others under noise of this size. It is still predicted "
            "where the other scores are lower.",
        )
    limits = {p.class_: p.critical_factor for p in problems if not p.null}
    shares = {label: 1 / own[1] if own else 0.0 for label, own in limits.items()}
    if near := [label for label, share in shares.items() if share >= _NEAR]:
        which = f" for {listed(near)}" if len(problems) > 1 else ""
        yield Advice(
            "near-critical",
            f"The radius is {100 * max(shares.values()):.0f} % of the critical radius"
            f"{which}. At the critical radius noise hides everything that {apart}. "
            "Consider a smaller radius.",
        )
    if not numbers and training.as_measured == 1 and not result.data.leaks:
        beyond = training.under_noise == 1 and result.uncertainty.largest > 0
        boundary = "straight boundary" if model.kernel is None else "curve"
        yield Advice(
            "separable",
            f"A {boundary} separates the classes of all training rows"
            f"{', under the worst noise too' if beyond else ''}. Training accuracy "
            "then says nothing about new rows"
            f"{'; use the cross-validated one' if result.evaluation else ''}.",
        )
    if model.line is not None:
        yield from _line(result, model.line)
    balanced = result.request.class_weight == "balanced"
    doubted = Counter(
        one.given for one in (result.suspects and result.suspects.rows) or ()
    )
    for label, n in doubted.items():
        if 2 * n > (total := result.data.classes[label]):
            yield Advice(
                "class-disbelieved",
                f"The model doubts the labels of {n} of {total} rows of the class "
                f"{label}: it may have given up the class, not found wrong labels. Try "
                f"{'' if balanced else '--class-weight balanced, '}a lower --ramp, or "
                "leave it out.",
            )


def _curve(result: FitResult) -> Iterator[Advice]:
    """A kernel that does not pay, or one that may."""
    found, worth = result.evaluation, result.worth
    if found is None or found.majority is None:
        return
    if (check := found.curve_check) is not None and check.low > 0:
        yield Advice(
            "try-kernel",
            "On rows left out, a curve fitted by least squares is more accurate than a "
            f"straight boundary: {points(check)} percentage points. Try --kernel rbf "
            "--C auto.",
        )
    if "line" not in found.gains:
        return
    ahead, plain = found.gains["line"].as_measured, found.noiseless_curve
    findings = worth.curve_as_measured, worth.curve_under_noise
    if "better" not in findings:
        as_well = "does as well" if "worse" not in findings else "does better"
        text = (
            f"A straight boundary {as_well} on rows left out (the kernel: "
            f"{points(ahead)} percentage points), has a weight for every feature, and "
            "its certificates are exact. Leave out --kernel"
        )
        if plain is not None and plain.low > 0:
            text += (
                ", or choose a smaller radius: with --radius 0 the difference is "
                f"{points(plain)} percentage points"
            )
        yield Advice("line-suffices", f"{text}.")
    elif "worse" in findings:
        first = worth.curve_as_measured == "better"
        yield Advice(
            "kernel-trades",
            f"The kernel is more accurate {_WHERE[0 if first else 1]} and less "
            f"accurate {_WHERE[1 if first else 0]} (its certificates are lower "
            "bounds). Choose by the noise that new rows will have.",
        )


def _line(result: FitResult, line: LineFacts) -> Iterator[Advice]:
    """A regression that rests on few rows, or an estimate that did not settle."""
    beyond = min(line.quantile, 1 - line.quantile) * result.data.rows_used
    if not line.slopes and beyond < _BEYOND:
        nearer = "" if line.quantile == 0.5 else ", or a quantile nearer to 0.5,"
        yield Advice(
            "few-beyond",
            f"The quantile {line.quantile:g} rests on the rows beyond it, and their "
            f"number is only about {beyond:.2g}: it is uncertain. Take more "
            f"rows{nearer}.",
        )
    if line.slopes and any(math.isnan(one.error) for one in line.slopes.values()):
        yield Advice(
            "no-standard-errors",
            "Slopes have no standard errors: these need more rows than columns, and at "
            "most 60 features.",
        )
    notes = " ".join(result.solver_notes) if line.slopes else ""
    for told, code, text in _ABOUT_LINES:
        if told in notes:
            yield Advice(code, text)
    if "EM has not converged" in notes:
        yield Advice(
            "slopes-unsettled",
            "The slopes had not converged when training stopped: the measurements "
            "hardly determine some of them. Leave out columns that hold nearly the "
            "same quantity (--drop).",
            serious=True,
        )


def _columns(result: FitResult) -> Iterator[Advice]:
    """Columns that should not be features."""
    data = result.data
    if copies := [one.feature for one in data.leaks if one.rank_correlation]:
        yield Advice(
            "leak",
            f"{listed(copies)} alone {agree(len(copies), 'has', 'have')} the rows in "
            f"the order of {listed([data.target])}, or in reverse. With a copy of the "
            "target, or what was computed from it, errors mean nothing: leave such "
            "columns out with --drop.",
        )
    for gaps, what in {False: "", True: "Missing values in "}.items():
        if own := {
            leak.feature: leak.auc
            for leak in data.leaks
            if leak.gaps == gaps and leak.auc is not None
        }:
            yield Advice(
                "leak",
                f"{what}{listed(own)} alone "
                f"{agree(1 + gaps if len(own) == 1 else 2, 'separates', 'separate')} "
                f"the classes (AUC {max(own.values()):.4g}; 1 is perfect). What was "
                "recorded after the class was known gives the answer away, and "
                "accuracies then mean nothing: leave such columns out with --drop.",
            )
    if text := tell_pairs(data.undeclared_errors):
        yield Advice("error-columns", text)
    if constant := [one.name for one in data.features if one.min == one.max]:
        yield Advice(
            "constant",
            f"Constant: {listed(constant)}. Columns that never vary carry no "
            "information; leave them out with --drop.",
        )
    if counters := data.row_counters:
        yield Advice(
            "row-counter",
            f"{listed(counters)} {agree(len(counters), 'numbers', 'number')} the "
            "rows. That is no measurement; leave it out with --drop: a model must not "
            "learn from the order of the file.",
        )


def _scales(result: FitResult) -> Iterator[Advice]:
    """Features whose numbers are of different size."""
    measured = [one for one in result.data.features if not one.category]
    spread = {one.name: one.std for one in measured if one.min != one.max}
    if not spread:
        return
    wide, narrow = (f(spread, key=spread.__getitem__) for f in (max, min))
    if not spread[wide] > _UNEQUAL * spread[narrow]:
        return
    ratio = spread[wide] / spread[narrow] if spread[narrow] > 0 else math.inf
    uneven = f"{listed([wide])} varies {ratio:.0f} times as much as {listed([narrow])}"
    if not (result.request.standardize or result.measured):
        yield Advice(
            "scales",
            f"{uneven}. Without --standardize the features with large numbers "
            "dominate the model, useful or not.",
        )
    if result.uncertainty.isotropic and result.uncertainty.largest > 0:
        yield Advice(
            "isotropic",
            f"{uneven}, and the radius allows the same error in both. Give the noise "
            "of each feature with --noise FILE, or count it in standard deviations "
            "with --radius 0.1std.",
        )


def _errors(result: FitResult) -> Iterator[Advice]:
    """Errors that are large, or not given."""
    noise, spread = result.uncertainty, result.data.spread
    errors = noise.errors or {}
    if lost := [name for name, error in errors.items() if error > spread[name] > 0]:
        yield Advice(
            "errors-exceed-spread",
            f"Half of the errors of {listed(lost)} are larger than the standard "
            "deviation of the values: such a feature says little, and the model "
            "hardly uses it.",
        )
    effects = {n: max(map(abs, e)) for n, e in result.model.effects(spread).items()}
    first = max(effects, key=effects.__getitem__, default="")
    if errors and first in (noise.exact or ()) and effects[first] > 0:
        yield Advice(
            "leans-on-exact",
            f"The feature with the largest effect, {listed([first])}, has no errors "
            "and counts as exact. If it is not, give its errors: training prefers "
            "exact features.",
        )
    if filled := noise.errors_filled_in:
        yield Advice(
            "errors-filled-in",
            f"{counted(filled, 'value')} had no usable error. The rule absent= of "
            f"--errors was used for {agree(filled, 'it', 'them')}.",
        )


def _population(result: FitResult) -> Iterator[Advice]:
    """Measurements that a population of Gaussians does not describe."""
    notes = " ".join(result.solver_notes) if result.verdicts else ""
    if "no such tails" in notes:
        yield Advice(
            "far-values",
            "Some values lie much further out than their errors and the middle half of "
            "their column explain, and a population of Gaussians has no such tails. "
            "Take logarithms of skewed columns, or name codes for missing values "
            "with --read na=….",
        )
    if result.misfit:
        yield Advice(
            "population-misfit",
            "A population of Gaussians does not fit these measurements: "
            f"{result.misfit}. Chances and verdicts depend on it. Take logarithms of "
            "skewed columns, or fit MeasuredSVC with a larger n_components in Python.",
        )
    if "EM has not converged" in notes:
        yield Advice(
            "population-unsettled",
            "The estimate of the population had not converged when training stopped; "
            "verdicts may be inaccurate. Fewer features (--drop) or more rows help.",
        )
    if result.verdicts and result.worth.as_measured == "worse":
        remedy = "Leave out --model measured for this table."
        if result.uncertainty.largest > 0:
            remedy = (
                "The radius may cost more accuracy than it brings: try --radius 0, or "
                "choose with --radius 0,0.5,1."
            )
        yield Advice(
            "model-harms",
            "On rows left out, an ordinary SVM that ignores errors and gaps was more "
            f"accurate. {remedy}",
        )


def _rows(result: FitResult) -> Iterator[Advice]:
    """Rare classes, rows left out, values filled in."""
    data, found = result.data, result.evaluation
    if data.classes:
        yield from _classes(result, data.classes)
    if found is None and result.request.folds > 0:
        yield _no_folds(result)
    of = f"of {counted(data.rows_read, 'row')}"
    if data.rows_dropped > _DROPPED * data.rows_read:
        yield Advice(
            "rows-dropped",
            f"{data.rows_dropped} {of} were left out because values are missing. If "
            "that is not by chance, the others are not a fair sample; --missing median "
            "fills such values in, and --model measured uses those that are there.",
        )
    if data.rows_without_label > _DROPPED * data.rows_read:
        what = "class" if data.classes else "target"
        yield Advice(
            "rows-without-label",
            f"{data.rows_without_label} {of} were left out because the {what} is "
            "missing. If that is not by chance, the others are not a fair sample.",
        )
    if data.values_filled_in:
        yield Advice(
            "filled-in",
            f"{counted(data.values_filled_in, 'missing value')} "
            f"{agree(data.values_filled_in, 'was', 'were')} filled in with the median "
            "of the column. Each counts as if it had been measured.",
        )


def _classes(result: FitResult, counts: dict[str, int]) -> Iterator[Advice]:
    """Rare classes."""
    found = result.evaluation
    rare, total = min(counts, key=counts.__getitem__), sum(counts.values())
    if counts[rare] * len(counts) / total / 2 < _RARE:
        if result.request.class_weight == "balanced":
            same = (
                ", and every class counts the same in the accuracies" if found else ""
            )
            remedy = (
                f"--class-weight balanced makes up for it in training{same}. All "
                "figures of a rare class rest on few rows."
            )
        else:
            within = "look at the accuracy within each class, " if found else ""
            remedy = (
                "Always naming the most common class is right in "
                f"{100 * max(counts.values()) / total:.1f} % of cases, so compare "
                f"accuracies with that, {within}and consider --class-weight balanced."
            )
        text = f"The class {rare} is rare: {counts[rare]} of {total} rows. {remedy}"
        yield Advice("imbalance", text)


def _no_folds(result: FitResult) -> Advice:
    """Why there are no scores of cross-validation."""
    counts = result.data.classes
    if result.interrupted:
        why = "Cross-validation was interrupted before two folds were done"
        remedy = "Fit again to measure it."
    elif counts:
        rare = min(counts, key=counts.__getitem__)
        why = f"The class {rare} has a single row, so there is no cross-validation"
        remedy = "Add rows of this class, or leave it out."
    else:
        why = "There are too few rows for cross-validation"
        remedy = "Add rows."
    unknown = "accuracy" if counts else "error"
    return Advice(
        "no-cross-validation",
        f"{why}: the {unknown} on new rows is unknown. {remedy}",
    )


# -- labels that may be wrong ----------------------------------------------------------


def count_suspects(suspects: Suspects) -> str:
    """Say how many there are."""
    found = suspects.found
    if not found:
        return "none: no row looks mislabelled"
    looks = agree(found, "looks mislabelled; check it", "look mislabelled; check these")
    return f"{counted(found, 'row')} {looks} first"


def tell_ending(problems: list[ProblemFacts]) -> str:
    """Say why descents ended."""
    endings = [_ENDINGS[one.descent["ending"]] for one in problems if one.descent]
    return " or ".join(dict.fromkeys(endings))


def tell_left_out(problems: list[ProblemFacts]) -> str:
    """Say how many rows are left out."""
    counts = [one.descent["left_out"] for one in problems if one.descent]
    told = counted(sum(counts), "row")
    if len(counts) > 1:
        told += f" in {len(counts)} problems, each a class against the rest"
    return told
