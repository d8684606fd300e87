"""Cells put together: one row per configuration and method, one line per method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean, median

from wideberth_paper import CS, RADII
from wideberth_paper.experiment import FOLDS, Cell, Configuration, Plan
from wideberth_paper.methods import BASELINE, METHODS, OURS, TOLERANCE
from wideberth_paper.printed import FIGURES, PRINTED
from wideberth_paper.reference import TARGET

#: How the data sets are called in print.
TITLES = {"breast_cancer": "Breast Cancer", "spambase": "Spambase"}
#: Columns of a row: key, heading, what it means.
COLUMNS = {
    "dataset": ("data", "Data set."),
    "C": ("C", "Weight of the losses."),
    "radius": ("ρ", "Radius of the noise, the same for every sample."),
    "method": ("method", "Who solved it."),
    "seconds": (
        "seconds",
        "Processor time (on Windows wall clock) from X and y to w, median over the "
        "repeats.",
    ),
    "speedup": ("× SCS", "Time of the SCS baseline over this time."),
    "relative_gap": (
        "gap",
        "Relative duality gap of the returned pair (w, α) on all samples.",
    ),
    "excess": ("above optimum", "(P(w) − P*) / P*, on all samples."),
    "excess_kept": (
        "due to removals",
        "The same for an exact training on the samples that were not removed.",
    ),
    "w_error": ("error of w", "‖w − w*‖ / ‖w*‖ against the reference."),
    "free": ("|F|", "Samples left undecided."),
    "saturated": ("|S|", "Samples decided to sit at α = C."),
    "removed": ("|R|", "Samples removed."),
    "wrong_removals": ("wrong R", "Removed samples with α* > 0."),
    "wrong_saturations": ("wrong S", "Saturated samples with α* < C."),
    "rate_paper": ("rate", "Screening rate as the paper defines it: (n − |F|)/n."),
    "rate_honest": (
        "honest rate",
        "Share of samples settled rightly that the last training does not read.",
    ),
    "train_accuracy": ("train", "Accuracy on the training data."),
    "test_accuracy": ("test", f"Accuracy on held-out data, mean of {FOLDS} folds."),
    "robust_train_accuracy": (
        "train, worst case",
        "Accuracy on the training data under the worst noise of radius ρ.",
    ),
    "robust_test_accuracy": (
        "test, worst case",
        "Held-out accuracy under the worst noise of radius ρ.",
    ),
    "repeats": ("repeats", "How often it was timed."),
}

#: Columns of the comparison with the paper: what the paper prints, and three methods.
COMPARED = {
    "printed": "paper, as printed",
    "as_published": "published code, run here",
    "repaired": "repaired",
    "wideberth_ellipsoid": "wideberth",
}
#: Its rows: what is compared, and the figure where the paper has none.
QUANTITIES = {
    "speedup": ("times as fast as SCS", ""),
    "rate_paper": ("screening rate", ""),
    "wrong_removals": ("samples removed wrongly", "A"),
    "train_lost": ("training accuracy lost, points", ""),
    "test_lost": ("test accuracy lost, points", ""),
}
#: Configurations of a data set in the paper.
GRID = len(CS) * len(RADII)


@dataclass(frozen=True)
class Check:
    """A claim and whether this run bears it out."""

    claim: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class Results:
    """Everything a run found."""

    plan: Plan
    environment: dict
    rows: list[dict]
    references: list[dict]
    steps: list[dict]
    regions: list[dict]
    failures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        plan: Plan,
        environment: dict,
        cells: dict[str, dict],
        failures: dict[str, str],
    ) -> Results:
        """Put the cells of a plan together."""
        rows, references, steps, regions = [], [], [], []
        for configuration in plan.configurations:
            where = dict(zip(("dataset", "C", "radius"), configuration, strict=True))
            references.append(where | cells[Cell(*configuration, "reference").key])
            levels = cells[Cell(*configuration, "regions").key]["levels"]
            regions += [where | level for level in levels]
            found = {m: _row(plan, configuration, m, cells) for m in METHODS}
            for method, row in found.items():
                if row is None:
                    continue
                here = where | {"method": method}
                steps += [here | step for step in row.pop("steps")]
                if (slow := found[BASELINE]) is not None:
                    row["speedup"] = slow["seconds"] / row["seconds"]
                rows.append(here | row)
        return cls(plan, environment, rows, references, steps, regions, failures)

    def select(self, *methods: str, dataset: str | None = None) -> list[dict]:
        """Rows of some methods (all, if none is named), on one data set or on all."""
        return [
            row
            for row in self.rows
            if (not methods or row["method"] in methods)
            and dataset in (None, row["dataset"])
        ]

    @property
    def datasets(self) -> list[str]:
        """The data sets of this run, in order."""
        return list(dict.fromkeys(row["dataset"] for row in self.references))

    def overview(self, dataset: str) -> list[dict]:
        """One line per method, over all configurations of a data set."""
        rows = {method: self.select(method, dataset=dataset) for method in METHODS}
        return [
            {"method": method} | _over(rows[method])
            for method in METHODS
            if rows[method]
        ]

    def comparison(self, dataset: str) -> list[dict]:
        """One line per quantity: the paper's range and those of this run.

        A range is (least, largest) over the configurations; wrong removals are summed;
        accuracies lost are those of SCS on the whole problem less the method's.
        """
        exact = {
            (row["C"], row["radius"]): row
            for row in self.select(BASELINE, dataset=dataset)
        }
        values: dict[str, dict[str, list]] = {name: {} for name in QUANTITIES}
        for method in list(COMPARED)[1:]:
            for row in self.select(method, dataset=dataset):
                slow = exact.get((row["C"], row["radius"]), {})
                own = row | {
                    f"{part}_lost": 100 * (slow[key] - row[key])
                    for part in ("train", "test")
                    if (key := f"{part}_accuracy") in slow and key in row
                }
                for name in QUANTITIES:
                    if name in own:
                        values[name].setdefault(method, []).append(own[name])
        lines = []
        for name, (_, figure) in QUANTITIES.items():
            number = FIGURES[dataset].get(name, figure)
            over: Callable = sum if name == "wrong_removals" else _ends
            line = {"quantity": name, "figure": str(number)}
            found = {method: over(each) for method, each in values[name].items()}
            lines.append(line | {"printed": PRINTED[dataset].get(name)} | found)
        return lines

    def extent(self, dataset: str) -> str:
        """How much of the paper's grid this run has of a data set."""
        shown = [c for c in self.plan.configurations if c[0] == dataset]
        folds = [c for c in self.plan.validated if c[0] == dataset]
        return (
            f"{len(shown)} of the paper’s {GRID} configurations; test accuracy of "
            f"{len(folds)}"
        )

    def balls(self, method: str) -> dict[bool, tuple[int, int]]:
        """(balls without w*, balls), by whether S was non-empty as the round began."""
        counts = {False: (0, 0), True: (0, 0)}
        before = 0
        for step in self.steps:
            if step["method"] != method:
                continue
            if step["iteration"] == 1:
                before = 0
            missed, total = counts[before > 0]
            counts[before > 0] = missed + step["ball_misses"], total + 1
            before = step["saturated"]
        return counts

    def checks(self) -> list[Check]:
        """What must hold of every run, on any machine.

        How often Algorithm 1 as published errs is not among it: that is for SCS's
        rounding to decide, and a finding of the run.
        """
        others = [row for row in self.rows if row["method"] != "as_published"]
        kinds = ("wrong_removals", "wrong_saturations")
        wrong = sum(row.get(kind, 0) for row in others for kind in kinds)
        worst_reference = max(row["relative_gap"] for row in self.references)
        ours = self.select(*OURS)
        worst_gap = max((row["relative_gap"] for row in ours), default=0.0)
        missed, total = map(sum, zip(*self.balls("repaired").values(), strict=True))
        return [
            Check(
                f"Every reference has a relative gap of at most {TARGET:g}",
                worst_reference <= TARGET,
                f"largest {worst_reference:.1e}",
            ),
            Check(
                f"wideberth certifies a relative gap of at most {TOLERANCE:g} "
                "everywhere",
                worst_gap <= TOLERANCE,
                f"largest {worst_gap:.1e}",
            ),
            Check(
                "No method but Algorithm 1 as published decides a sample wrongly",
                wrong == 0,
                f"{wrong} wrong",
            ),
            Check(
                "Every ball of Algorithm 1 as repaired contains the optimum",
                missed == 0,
                f"{missed} of {total} do not",
            ),
            Check(
                "Every method finished on every configuration",
                not self.failures,
                f"{len(self.failures)} failed",
            ),
        ]


def _row(plan: Plan, configuration: Configuration, method: str, cells) -> dict | None:
    """One configuration and method; None if it failed."""
    fits = [
        cells.get(Cell(*configuration, "fit", method, repeat).key)
        for repeat in range(plan.repeats)
    ]
    if fits[0] is None:
        return None
    times = [fit["seconds"] for fit in fits if fit is not None]
    row = dict(fits[0]) | {"seconds": median(times), "repeats": len(times)}
    folds = [
        cells.get(Cell(*configuration, "fold", method, index).key)
        for index in range(FOLDS)
    ]
    if configuration in plan.validated and None not in folds:
        for name in folds[0]:
            row[name] = fmean(fold[name] for fold in folds)
    return row


def _over(rows: list[dict]) -> dict:
    line: dict = {"configurations": len(rows)}
    for name, over in _OVER.items():
        values = [row[name] for row in rows if row.get(name) is not None]
        line[name] = over(values) if values else None
    return line


def _ends(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


#: What stands for many rows: median times; the range of ratios and rates; the worst
#: errors; all mistakes; mean accuracies.
_OVER: dict[str, Callable] = {
    "seconds": median,
    **dict.fromkeys(("speedup", "rate_paper", "rate_honest"), _ends),
    **dict.fromkeys(("relative_gap", "excess", "excess_kept", "w_error"), max),
    **dict.fromkeys(("wrong_removals", "wrong_saturations"), sum),
    **dict.fromkeys((name for name in COLUMNS if name.endswith("accuracy")), fmean),
}
