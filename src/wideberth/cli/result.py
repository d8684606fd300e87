"""The result of `wideberth fit`: every number, name and sentence about it, typed.

The report (`page.html`), the terminal (`fit.py`) and `--json` (`as_json`) are views of
one `FitResult`, so they cannot differ. A bound or distance may be infinite; JSON has
null there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from wideberth.cli.options import FitOptions

#: How a model compares with ordinary SVMs; "even" is no measurable difference.
Finding = Literal["better", "even", "worse"]
#: What a model is judged by: scores on the data as given, and under the worst noise.
KINDS = ("as_measured", "under_noise")


# -- where it is from ------------------------------------------------------------------


@dataclass(frozen=True)
class DataSource:
    """The file, and how it was read."""

    name: str
    format: str
    sha256: str
    details: dict[str, str]


@dataclass(frozen=True)
class Origin:
    """Command, time, versions and machine."""

    command: str
    time: str
    versions: dict[str, str]
    machine: dict[str, object]


# -- the rows --------------------------------------------------------------------------


@dataclass(frozen=True)
class FeatureFacts:
    """The scale of a feature, in raw units; `category`: it is an indicator of one."""

    name: str
    category: bool
    mean: float
    std: float
    min: float
    max: float


@dataclass(frozen=True)
class Leak:
    """A feature that tells the target alone; `gaps`: by where it is missing.

    Of classes by its AUC, of numbers by its rank correlation with them.
    """

    feature: str
    auc: float | None
    rank_correlation: float | None
    gaps: bool


@dataclass(frozen=True)
class NumberFacts:
    """A target of numbers, in its unit; `scale` is the mean distance from the median.

    `error` is the median of its errors, where it has any.
    """

    mean: float
    std: float
    min: float
    max: float
    scale: float
    error: float | None = None


@dataclass(frozen=True)
class DataFacts:
    """The table: rows, classes or numbers, features, and what looks wrong with them.

    `task_story` says why the target was taken for what it is, where that is not
    obvious. `row_counters` are features that count the rows; None of data in pieces.
    """

    rows_read: int
    rows_without_label: int
    rows_dropped: int
    rows_used: int
    missing_values: dict[str, int]
    values_filled_in: int
    target: str
    task: str
    task_story: str
    classes: dict[str, int]
    numbers: NumberFacts | None
    row_counters: list[str] | None
    leaks: list[Leak]
    undeclared_errors: dict[str, list[str]]
    features: list[FeatureFacts]

    @property
    def spread(self) -> dict[str, float]:
        """The standard deviation of every feature."""
        return {one.name: one.std for one in self.features}


@dataclass(frozen=True)
class NoiseFacts:
    """How far rows may be off.

    The radii are those trained with: `smallest`, `median`, `largest`, after `factor`,
    which cross-validation may have chosen. `asked` is the median of those to withstand;
    None where there is no noise. `errors` has the median error of each feature.
    """

    story: str
    column: str | None
    smallest: float
    median: float | None
    largest: float
    asked: float | None
    shape: str
    isotropic: bool
    unit: str
    scales: dict[str, float]
    per_row: bool
    factor: float
    errors: dict[str, float] | None = None
    exact: list[str] | None = None
    errors_filled_in: int = 0
    samples: int | None = None
    samples_measured_once: int = 0
    readings: int = 0
    noise_scales: dict[str, float] | None = None


# -- the model -------------------------------------------------------------------------


@dataclass(frozen=True)
class ToldProof:
    """What is proven about every C from `low` to `high`.

    No exact optimum has an error below `lower_bound`, where `error` is that of the
    choice; `bounds` hold between the values of C in `edges`.
    """

    low: float
    high: float
    error: float
    lower_bound: float
    within: float
    proven: bool
    edges: list[float]
    bounds: list[float]


@dataclass(frozen=True)
class Choice:
    """What cross-validation chose, from what, and the scores at the chosen penalty.

    `scores` has a row for each factor on the radius and a column for each C. `gamma` is
    that of a kernel, and None of a straight boundary.
    """

    C: float
    factor: float
    score: float
    Cs: list[float]
    factors: list[float]
    scores: list[list[float]]
    folds: int
    measure: str
    unit: str
    norm_penalty: float = 0.0
    norm_penalties: list[float] | tuple[()] = ()
    ramp: float | None = None
    ramps: list[float] | tuple[()] = ()
    gamma: float | None = None
    gammas: list[float] | tuple[()] = ()
    proof: ToldProof | None = None

    @property
    def made(self) -> dict[str, tuple[Any, Any]]:
        """What was chosen beside C, and the values tried, where there were several."""
        found = {
            self.unit: (self.factor, self.factors),
            "γ": (self.gamma, self.gammas),
            "norm penalty": (self.norm_penalty, self.norm_penalties),
            "ramp": (self.ramp, self.ramps),
        }
        return {name: pair for name, pair in found.items() if len(pair[1]) > 1}


@dataclass(frozen=True)
class Slope:
    """A slope of the true features and its standard error.

    `ignoring_errors` and `ignoring_error` are those of the same fit to the values as
    if they were exact. A standard error is NaN where it is not known.
    """

    value: float
    error: float
    ignoring_errors: float
    ignoring_error: float


@dataclass(frozen=True)
class LineFacts:
    """Numbers from features: what belongs to such a model alone.

    `scale` is the unit that C counts in, `scatter` the standard deviation of true
    numbers about a measured line. `plain` has the weights of the same model without
    noise; `slopes` are those of a measured line. None where they do not apply.
    `remeasure` says which values leave most doubt in predictions.
    """

    quantile: float
    scale: float | None
    scatter: float | None
    plain: dict[str, float] | None
    slopes: dict[str, Slope] | None
    remeasure: list[Remeasure] | None

    @property
    def level(self) -> str:
        """What of the number is predicted."""
        return "median" if self.quantile == 0.5 else f"quantile {self.quantile:g}"


@dataclass(frozen=True)
class KernelFacts:
    """A curved boundary: exp(−γ‖x−x'‖²) at so many rows that serve as landmarks.

    Distances are of features as they are trained on: standardised, or in raw units.
    Both numbers are as given, chosen, or found from the data.
    """

    name: str
    gamma: float
    gamma_from: str
    landmarks: int
    landmarks_from: str


@dataclass(frozen=True)
class ModelFacts:
    """The decision functions in raw units; `left_out` are features without a weight.

    A model of numbers has one, and its facts as a `line`. Behind a `kernel` features
    have no weights.
    """

    classes: list[str]
    scores_for: list[str]
    intercepts: list[float]
    coefficients: dict[str, list[float]]
    left_out: list[str]
    C: float | None
    norm_penalty: float
    ramp: float | None
    line: LineFacts | None = None
    kernel: KernelFacts | None = None

    def effects(self, spread: dict[str, float]) -> dict[str, list[float]]:
        """What one standard deviation of a feature does to each score."""
        return {n: [w * spread[n] for w in ws] for n, ws in self.coefficients.items()}


@dataclass(frozen=True)
class ProblemFacts:
    """Certificate of one binary problem, and the noise at which nothing can be learnt.

    `critical_radius`, or `critical_factor` on the radii, is a pair of bounds; infinite
    where no noise is too much, None where it was not looked for.
    """

    class_: str
    objective: float
    gap: float
    relative_gap: float
    converged: bool
    iterations: int
    passes: float | None
    removed: float | None
    saturated: float | None
    null: bool
    descent: dict | None
    critical_radius: tuple[float, float] | None = None
    critical_factor: tuple[float, float] | None = None

    @property
    def limits(self) -> tuple[float, float] | None:
        """Bounds on the critical radius, or on the factor on radii that leads there."""
        return self.critical_factor or self.critical_radius


@dataclass(frozen=True)
class Training:
    """The problems that were solved, and how the model does on its own training rows.

    None were for a measured line, which is estimated. Accuracies are of classes, errors
    of numbers.
    """

    problems: list[ProblemFacts]
    support: int | None
    as_measured: float
    under_noise: float
    tol: float
    seconds: float

    @property
    def relative_gap(self) -> float:
        """The largest of all problems."""
        return max((problem.relative_gap for problem in self.problems), default=0.0)


# -- how right it is -------------------------------------------------------------------


@dataclass(frozen=True)
class FoldMeans:
    """A mean over the rows of each fold, and its mean and standard deviation."""

    mean: float
    std: float
    folds: list[float]


@dataclass(frozen=True)
class NoiseCurve:
    """Scores under worst noise over radii: mean over the folds, and their range."""

    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class ClassShares:
    """Shares of the rows of one class that are right."""

    as_measured: float
    under_noise: float | None


@dataclass(frozen=True)
class ModelScores:
    """One model on rows left out: accuracies, of numbers errors.

    Under the worst noise, too, where any was asked for.
    """

    as_measured: FoldMeans
    under_noise: FoldMeans | None
    curve: NoiseCurve | None
    classes: dict[str, ClassShares]


@dataclass(frozen=True)
class Gain:
    """By how much the score of one model is above that of another, paired over rows.

    `error` is the standard error of the mean, `low` and `high` a confidence interval.
    """

    mean: float
    error: float
    low: float
    high: float
    confidence: float
    folds: list[float]


@dataclass(frozen=True)
class Gains:
    """Over another model; of errors below 0 where this model is nearer."""

    as_measured: Gain
    under_noise: Gain | None


@dataclass(frozen=True)
class TunedC:
    """C of an ordinary SVM for every fold, judged by `rows` `of` so many.

    `gammas` are those of its kernel, where they were to be chosen.
    """

    Cs: list[float]
    rows: int
    of: int
    gammas: list[float] | None = None


@dataclass(frozen=True)
class RadiusGain:
    """How far rows left out may be off and stay right, beside a straight boundary.

    A row counts with its certified radius, and with 0 where it is wrong. `own` and
    `line` are medians over the rows, `median` is that of the differences, paired over
    the rows, and from `low` to `high` goes a confidence interval of it.
    """

    own: float
    line: float
    median: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class VerdictAccuracy:
    """How many rows have a verdict, and the share that is right; None of no rows."""

    rows: int
    accuracy: float | None


@dataclass(frozen=True)
class Coverage:
    """A share of rows that was stated, and those observed: of all, and by thirds.

    `error` is the standard error of the share observed.
    """

    stated: float
    observed: float
    error: float
    thirds: list[float]


@dataclass(frozen=True)
class Residuals:
    """Number less prediction of rows left out, with the row in the file, from 1."""

    rows: list[int]
    predictions: list[float]
    residuals: list[float]


@dataclass(frozen=True)
class Evaluation:
    """Models on rows they have not seen, that which was asked for first.

    Of classes `majority` is what always naming the same one achieves; `confusion`
    counts rows by the class given, and within it by the class predicted; `radius_gain`
    is that of a kernel, `noiseless_curve` how far a kernel trained without noise is
    ahead of the straight boundary, and `curve_check` how far a quick curve is.

    Of numbers a constant, the quantile of the rows trained on, is one of the models.
    `coverage` is of intervals of a measured line, with thirds by their width; otherwise
    of the rows below the prediction, with thirds by the prediction.

    `folds` are done; after an interrupt that may be fewer than `planned`.
    """

    folds: int
    planned: int
    interrupted: bool
    measure: str
    tuned: TunedC | None
    radii: list[float] | None
    models: dict[str, ModelScores]
    gains: dict[str, Gains]
    majority: float | None = None
    confusion: dict[str, dict[str, int]] | None = None
    verdicts: dict[str, VerdictAccuracy] | None = None
    radius_gain: RadiusGain | None = None
    noiseless_curve: Gain | None = None
    curve_check: Gain | None = None
    coverage: list[Coverage] | None = None
    residuals: Residuals | None = None

    @property
    def told_folds(self) -> str:
        """How many folds the figures rest on."""
        if self.folds == self.planned:
            return f"{self.folds}-fold cross-validation"
        ended = f"{self.folds} of {self.planned} folds"
        return f"cross-validation interrupted after {ended}"

    @property
    def own(self) -> ModelScores:
        """Those of the model asked for."""
        return next(iter(self.models.values()))

    @property
    def called(self) -> dict[str, str]:
        """What the models are called."""
        plain = "ordinary SVM" if self.confusion is not None else "plain regression"
        names = {
            "line": "straight boundary, C chosen",
            "ordinary": f"{plain}, same C",
            "tuned": f"{plain}, C tuned",
            "constant": "a constant",
        }
        first, *others = self.models
        return {first: "this model"} | {name: names[name] for name in others}

    @property
    def balanced(self) -> bool:
        """Whether every class counts the same."""
        return self.measure.startswith("balanced")


@dataclass(frozen=True)
class Worth:
    """Whether it paid: a verdict, what else is to be said, and what was found.

    A finding is None where there is nothing to compare. Those of the `curve` are of a
    kernel beside a straight boundary, the others beside ordinary SVMs.
    """

    verdict: str
    detail: str = ""
    as_measured: Finding | None = None
    under_noise: Finding | None = None
    curve_as_measured: Finding | None = None
    curve_under_noise: Finding | None = None


# -- single rows -----------------------------------------------------------------------


@dataclass(frozen=True)
class DoubtfulRow:
    """A row whose errors leave its class in doubt, counted from 1 as in the file."""

    row: int
    class_: str
    prediction: str
    margin: float
    spread: float
    chance: float
    runner_up: str
    remeasure: str | None
    share: float


@dataclass(frozen=True)
class Remeasure:
    """The value of this feature leaves most doubt in so many rows, `gaps` of them.

    `share` is its mean part in the doubt.
    """

    feature: str
    rows: int
    gaps: int
    share: float


@dataclass(frozen=True)
class VerdictFacts:
    """How many rows are certain and doubtful, and which are most so."""

    confidence: float
    certain: int
    doubtful: int
    most_doubtful: list[DoubtfulRow]
    remeasure: list[Remeasure]


@dataclass(frozen=True)
class Flip:
    """The least noise that changes a right prediction; `noises`: in radii of the row.

    `share` is the part of it that enters through the feature.
    """

    row: int
    id: str | None
    class_: str
    rival: str
    radius: float
    noises: float | None
    feature: str
    share: float


@dataclass(frozen=True)
class Flips:
    """Rows that are right by a hair; `flippable` of those right can be flipped.

    `features` has the share of the noise that enters through each, the largest first.
    """

    right: int
    flippable: int
    rows: list[Flip]
    features: dict[str, float]


@dataclass(frozen=True)
class Suspect:
    """A row that looks mislabelled: how far off its values would have to be if not."""

    row: int
    id: str | None
    given: str
    predicted: str
    distance: float
    noises: float


@dataclass(frozen=True)
class Suspects:
    """The most doubtful labels first."""

    id: str | None
    found: int
    rows: list[Suspect]


# -- all of it -------------------------------------------------------------------------


@dataclass(frozen=True)
class Advice:
    """A warning; `serious` ones mean that the model should not be used as it is."""

    code: str
    text: str
    serious: bool = False


@dataclass(frozen=True)
class FitResult:
    """All there is to say about a fit."""

    request: FitOptions
    source: DataSource
    model: ModelFacts
    data: DataFacts
    uncertainty: NoiseFacts
    choice: Choice | None
    training: Training
    evaluation: Evaluation | None
    interrupted: bool
    verdicts: VerdictFacts | None
    flips: Flips | None
    suspects: Suspects | None
    misfit: str
    solver_notes: list[str]
    origin: Origin
    worth: Worth
    warnings: tuple[Advice, ...] = ()

    @property
    def measured(self) -> bool:
        """Whether true values were learned (`--model measured`)."""
        line = self.model.line
        return self.verdicts is not None or bool(line and line.slopes)


def as_json(value):
    """A result as plain data: dataclasses as objects, infinite numbers as null."""
    if is_dataclass(value):
        named = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name.removesuffix("_"): as_json(own) for name, own in named}
    if isinstance(value, dict):
        return {name: as_json(own) for name, own in value.items()}
    if isinstance(value, list | tuple | frozenset):
        return [as_json(own) for own in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
