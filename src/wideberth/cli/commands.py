"""The commands: what each can be told, and what its help says.

Each has one dataclass here, of which `options.py` makes the parser. What they do is in
the modules of the same names, which see nothing but the dataclass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from wideberth.cli.options import (
    Column,
    Commands,
    Count,
    File,
    Natural,
    Positive,
    Probability,
    Radius,
    Starts,
)
from wideberth.cli.training_options import TableOptions, TrainingOptions

#: Groups of options in the order of the help, and what it says about them.
_GROUPS = {
    "How far values may be off": None,
    "Labels that may be wrong": None,
    "Training": None,
    "Reading the data": "Found out from the file unless given. CSV may be separated by "
    "commas, semicolons, tabs, bars or blanks, use decimal points or commas, and be "
    "compressed (.gz, .bz2, .xz). Empty cells, NA, N/A, NaN, null and ? are missing "
    "values.",
    "Results": None,
}
_EXIT_CODES = """
exit codes:
  0    done
  1    the data, the model file or an output cannot be used; one sentence says why
  2    the command line is wrong
  3    done and written, but the model should not be used as it is: it ignores the
       features, or its optimality could not be proven to the tolerance
  130  interrupted (Ctrl-C); nothing is left half written, and a model that only lacks
       its cross-validated accuracy is kept
"""
#: Options that need the whole table in memory.
_WHOLE = (
    *("report", "cv", "standardize", "replicates", "radius_units"),
    *("one_hot", "missing_errors", "suspects", "id"),
)


#: Options that say otherwise than by standard errors how far rows may be off, or how
#: exactly to train, which is settled.
_NOT_MODEL = (
    *("error_shape", "radius_column", "replicates", "noise_scales", "noise"),
    *("radius_units", "score_radius", "tol"),
    *("norm_penalty", "norm_penalties"),
)


#: Options that say that labels may be wrong, and those that say more about it.
_SAY_DOUBT = ("label_noise", "ramp", "ramps")
_ABOUT_LABELS = ("starts", "suspects")


@dataclass(frozen=True, kw_only=True)
class FitOptions(TrainingOptions):
    """Train a linear classifier that expects its features to be off, and prove how good
    it is.

    DATA is a CSV, TSV, Parquet, Arrow, LIBSVM, .npz or .npy file, or - for standard
    input. Every column is a feature except the target and those named below. Text is
    never dropped or encoded in silence: name such columns with --drop or --one-hot.

    Options
    -------
    out: model file (.wideberth), or -
    report: report (.html)

    Labels that may be wrong
    ------------------------
    starts: descend from so many starting points and keep the best model (default: 1)
    suspects: CSV of all rows that look mislabelled, the most doubtful first

    Training
    --------
    C: price of errors; smaller values give simpler models (default: 1)
    cv: choose C, the radius from --radii, the price from --norm-penalties and the ramp
        from --ramps, by cross-validation
    score_radius: with --cv: choose what is most accurate under the worst noise of this
        radius (counted like --radii), not as measured
    folds: for the cross-validated accuracy (default: 5; 0: none)
    memory: read DATA in pieces and never hold more than this, such as 2GB; numbers
        only, no missing values, no cross-validation and no report
    """

    command = "fit"
    summary = "train a model on a table and report on it"
    epilog = f"""\
how far values may be off:
  --radius 0.5                  every row by 0.5, in the units of the data
  --radius 0.1 --radius-units std   by a tenth of each feature's standard deviation
  --noise-scales precision.csv  each feature by its own standard deviation; the file has
                                the columns name and scale, or one number per line
  --noise linf --noise-scales tolerances.csv   each feature by up to its tolerance, all
                                of them at once; features that tell less are left out
  --radius-column sigma         each row by its own radius, in the column sigma
  --errors suffix:_err          each value by its own standard error: that of mass is in
                                the column mass_err
  --replicates sample           rows with the same sample are repeated measurements:
                                trained on as means, radii from how they spread

labels that may be wrong:
  --label-noise --suspects check.csv   some labels are wrong; the model does not bend
                                to them, and check.csv lists rows to look at

examples:
  wideberth fit iris.csv --target species --standardize --report iris.html
  wideberth fit galaxies.csv --target type --errors suffix:_err --standardize
  wideberth fit stars.csv --target type --errors suffix:_err --missing model
  wideberth fit blood.csv --target sick --drop name date --one-hot clinic \\
      --replicates patient --standardize --out model.wideberth --report report.html
  xzcat big.tsv.xz | wideberth fit - --format tsv --target y --radius 0.2 --json
{_EXIT_CODES}"""

    out: File | None = None
    report: File | None = None
    C: Positive = 1.0
    cv: bool = False
    score_radius: Radius | None = None
    folds: Natural = 5
    memory: Annotated[str, ("metavar", "SIZE")] | None = None
    starts: Starts = 1
    suspects: File | None = None

    _endings: ClassVar[dict[str, tuple[str, ...]]] = {
        "out": (".wideberth",),
        "report": (".html", ".htm"),
        "suspects": (".csv", ".txt"),
    }

    def _mistakes(self) -> Iterator[str]:
        for name in ("report", "suspects"):
            if getattr(self, name) == "-":
                yield f"--{name} must be a file."
        if self.out == "-" and self.json:
            yield "--out - and --json both want standard output."
        if self.folds == 1:
            yield "--folds must be 0 (no cross-validation) or at least 2."
        if not self.cv and (self.radii or self.score_radius is not None):
            yield "--radii and --score-radius are for --cv to choose by."
        if not self.cv and self.norm_penalties:
            yield "--norm-penalties are for --cv to choose from; --norm-penalty is one."
        if not self.cv and self.ramps:
            yield "--ramps are for --cv to choose from; --ramp is one."
        for option in () if self.doubts_labels else self._given(_ABOUT_LABELS):
            yield (
                f"{option} is about labels that may be wrong, and --label-noise says "
                "that some are; give both."
            )
        yield from super()._mistakes()
        if self.missing == "model":
            for option in self._given(_NOT_MODEL):
                yield (
                    f"--missing model does not go with {option}: it knows values by "
                    "their standard errors, --errors. Leave out one of the two."
                )
            if self.doubts_labels:
                yield (
                    "--missing model does not go with --label-noise: it trusts labels. "
                    "--missing drop or median does."
                )
        if self.memory is None:
            return
        for option in self._given(_WHOLE):
            yield f"{option} needs the whole table; leave it out, or --memory."
        if self.missing in ("median", "model"):
            yield f"--missing {self.missing} needs the whole table; leave out --memory."
        if self.data == "-":
            yield "--memory needs a file, which is read several times, not -."

    def outputs(self) -> list[str | None]:
        return [self.out, self.report, self.suspects]

    def trusting(self) -> Self:
        """The same for a model that trusts every label and has no norm penalty."""
        names = ("norm_penalty", "norm_penalties", *_SAY_DOUBT, *_ABOUT_LABELS)
        usual: Any = {name: self.__dataclass_fields__[name].default for name in names}
        return replace(self, **usual)

    def ordinary(self, C: float = 1.0, **searched) -> Self:
        """The same for an ordinary SVM with this C, or one that is `searched` for."""
        usual: Any = {"cv": bool(searched), "radii": (), "score_radius": None}
        return replace(self.trusting(), C=C, **usual | searched)


@dataclass(frozen=True, kw_only=True)
class PathOptions(TrainingOptions):
    """Train models for many values of C, and of the radius, the norm penalty or the
    ramp, each with its proof of optimality.

    The output is a CSV with one line per model: C, radius, norm penalty, objective, how
    near the optimum it is proven to be, how many features have a weight, and how many
    rows are proven to have no influence (removed) or full weight (saturated). With more
    than two classes each is set against the rest in turn. Where rows have radii of
    their own the radius is a factor on them (radius_factor). With --label-noise it also
    has the ramp and how many rows are left out; the proof is then of the best model
    that leaves the same rows out.

    Options
    -------
    out: CSV to write (default: print it)
    weights: add the weight of every feature, and the intercept, in raw units

    Training
    --------
    Cs: values of C to train with
    points: how many values of C where none are given (default: 30)
    """

    command = "path"
    summary = "train models along C, and along the radius, norm penalty or ramp"
    epilog = f"""\
examples:
  wideberth path data.csv --target sick --standardize --radii 0 0.1 0.2 > path.csv
  wideberth path data.csv --target sick --replicates patient --radii 0.5 1 2 --weights
  wideberth path data.csv --target sick --Cs 0.01 0.1 1 10 --json
  wideberth path data.csv --target sick --label-noise --ramps -2 -1 -0.5 --Cs 1
  wideberth path data.csv --target sick --standardize --noise linf --Cs 1 \
      --norm-penalties 1 3 10 30 --weights
{_EXIT_CODES}"""

    out: File | None = None
    weights: bool = False
    Cs: tuple[Positive, ...] = ()
    points: Count = 30

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        levels = ("radii", "norm_penalties", "ramps")
        varied = [name for name in levels if len(getattr(self, name)) > 1]
        if len(varied) > 1:
            options = " and ".join(self._given(varied))
            yield f"{options}: a path varies one of them; give one."
        if self.missing == "model":
            yield (
                "--missing model is for fit, with --cv to choose C and the radius; "
                "path takes drop, median or error."
            )

    def outputs(self) -> list[str | None]:
        return [self.out]


@dataclass(frozen=True, kw_only=True)
class ApplyOptions(TableOptions):
    """A model, the data, and what tells its rows apart.

    Options
    -------
    model: file written by wideberth fit
    data: file with the rows, or -
    errors: where DATA has its errors, like fit --errors (default: as in training)
    confidence: of a certain verdict, for models of fit --missing model (default: as in
        training)
    id: column to repeat in the output (default: row number)
    out: CSV to write (default: print it)
    memory: never hold more than this, such as 500MB; rows are read a few at a time in
        any case, but for LIBSVM and .npy files
    """

    usage = "MODEL DATA"
    model: str
    data: str
    errors: Annotated[str, ("metavar", "HOW")] | None = None
    confidence: Probability | None = None
    id: Column | None = None
    out: File | None = None
    memory: Annotated[str, ("metavar", "SIZE")] | None = None

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        if self.memory is not None and self.data == "-":
            yield "--memory needs a file, of which some rows can be read, not -."

    def _inputs(self) -> Iterator[str]:
        yield self.model
        yield self.data

    def outputs(self) -> list[str | None]:
        return [self.out]


@dataclass(frozen=True, kw_only=True)
class PredictOptions(ApplyOptions):
    """Predict the class of every row of DATA with a model that `wideberth fit` wrote.

    Columns are found by name, in whatever order; further ones are ignored. The output
    is a CSV with one line per row of DATA, in its order. Rows that lack a value the
    model needs get an empty prediction, and standard error says how many there are.

    A model of fit --missing model gives a verdict from the errors and gaps of the row:
    margin, spread, chance of the other side, certain or doubtful, and which value to
    measure again.

    Options
    -------
    scores: add the score of each class (of the second, where there are two)
    """

    command = "predict"
    summary = "predict the class of every row of a table"
    epilog = f"""\
examples:
  wideberth predict model.wideberth new.csv > predictions.csv
  wideberth predict model.wideberth new.csv --id patient --scores --out predictions.csv
{_EXIT_CODES}"""

    scores: bool = False


@dataclass(frozen=True, kw_only=True)
class CertifyOptions(ApplyOptions):
    """Say for every row of DATA how far its values may be off before the prediction can
    change: exactly, and in the units of the noise the model was trained with. `inf`
    means that no noise of that shape changes it. A model that was trained with error
    bars counts in multiples of the errors of the row itself.

    Where DATA has the target column, also say which predictions are right, and which
    share of them is right whatever noise of a given radius does (certified accuracy).
    That radius is the one trained with. Where every row had its own in training it is
    what the same column of DATA says; without such a column name another, or radii with
    --at. A model of fit --missing model gives verdicts, as in predict, and how many of
    those that are certain are right.

    Options
    -------
    target: column with the class (default: as in training)
    radius_column: column with the radius of each row (default: as in training)
    curve: CSV for the curve of certified accuracy
    at: radii of that curve (default: from 0 to where hardly a row is left)
    """

    command = "certify"
    summary = "how much noise every prediction withstands"
    epilog = f"""\
examples:
  wideberth certify model.wideberth test.csv
  wideberth certify model.wideberth test.csv --out rows.csv --curve curve.csv
  wideberth certify model.wideberth test.csv --at 0 0.1 0.2 --json
{_EXIT_CODES}"""

    target: Column | None = None
    radius_column: Column | None = None
    curve: File | None = None
    at: tuple[Radius, ...] = ()

    _endings = dict.fromkeys(("out", "curve"), (".csv", ".txt"))

    def outputs(self) -> list[str | None]:
        return [self.out, self.curve]


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions:
    """Run the experiments of the screening paper on its data, beside other solvers, and
    write report.html with tables and figures. Started again after an interruption, it
    goes on where it stopped.

    Options
    -------
    quick: a part of the grid, about a minute
    repeats: time every fit N times (1 if --quick, else 3)
    jobs: processes for what is not timed (one per core, at most 4)
    out: folder for the report (default: reproduction)
    """

    command = "reproduce"
    summary = "run the experiments of the screening paper on its data"
    epilog = ""

    quick: bool = False
    repeats: Count | None = None
    jobs: Count | None = None
    out: Annotated[str, ("metavar", "DIR")] = "reproduction"


def commands() -> Commands:
    """Return the parser of the command line."""
    from wideberth import __version__

    options = (
        FitOptions,
        PredictOptions,
        CertifyOptions,
        PathOptions,
        ReproduceOptions,
    )
    found = Commands(
        "wideberth",
        options,
        _GROUPS,
        description="Linear classifiers that stay right when features are noisy.\n"
        "`wideberth COMMAND --help` explains each command.",
        epilog=f"""\
examples:
  wideberth fit measurements.csv --target diagnosis --standardize \\
      --noise-scales precision.csv --out model.wideberth --report report.html
  wideberth predict model.wideberth new.csv > predictions.csv
  wideberth certify model.wideberth test.csv --curve curve.csv --out rows.csv
{_EXIT_CODES}""",
    )
    found.root.add_argument("--version", action="version", version=__version__)
    return found
