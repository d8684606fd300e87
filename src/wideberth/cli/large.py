"""`wideberth fit --memory`: tables that are read in pieces and never held whole."""

from __future__ import annotations

import argparse
import time
import warnings
from argparse import Namespace
from pathlib import Path

from wideberth.cli.analysis import describe_model
from wideberth.cli.errors import UserError
from wideberth.cli.fitting import describe_origin
from wideberth.cli.model import Model
from wideberth.cli.prepare import Columns
from wideberth.cli.progress import Progress
from wideberth.estimators import RobustLinearSVC
from wideberth.pipeline import RobustPipeline
from wideberth.scale import DataError, Source, open_data
from wideberth.scale.tables import column_names

__all__ = ["check_large", "fit_large"]

#: What needs the whole table in memory: options, and where they stand if not given.
_WHOLE: dict = {
    "report": None,
    "cv": False,
    "standardize": False,
    "replicates": None,
    "noise_scales": None,
    "radius_units": "raw",
    "noise": "l2",
    "one_hot": [],
    "delimiter": None,
    "decimal": None,
    "encoding": None,
    "no_header": False,
    "na": [],
}


def check_large(options: Namespace, parser: argparse.ArgumentParser) -> None:
    """Refuse what cannot be done in pieces."""
    for name, absent in _WHOLE.items():
        if getattr(options, name) != absent:
            parser.error(
                f"--{name.replace('_', '-')} needs the whole table; leave it out, or "
                "--memory."
            )
    if options.data == "-":
        parser.error("--memory needs a file, which is read several times, not -.")


def fit_large(
    options: Namespace, command: str, progress: Progress
) -> tuple[Model, dict]:
    """Train; return the model and what there is to say about it."""
    started = time.perf_counter()
    progress.show(f"reading {options.data}")
    try:
        source = _open(options)
        classifier = RobustLinearSVC(
            C=options.C,
            radius=options.radius or 0.0,
            class_weight=options.class_weight,
            tol=options.tol,
            random_state=options.seed,
            verbose=int(progress.on),
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier.fit(source)
    except (DataError, FileNotFoundError, ImportError, ValueError) as error:
        raise UserError(str(error)) from error
    names = source.names or [str(k + 1) for k in range(source.d)]
    classifier.__dict__.pop("feature_names_in_", None)  # `columns` below knows them
    pipeline, columns = RobustPipeline.around(classifier), Columns(tuple(names))
    origin = describe_origin(command)
    result: dict = {
        "source": {"name": str(options.data), "memory": options.memory},
        "data": _describe(classifier, names, options),
        "model": describe_model(pipeline, columns),
        "training": _facts(classifier, time.perf_counter() - started),
        "evaluation": None,
        "uncertainty": {"largest": options.radius or 0.0},
        "solver_notes": [str(note.message) for note in caught],
        "origin": origin,
    }
    result["warnings"] = [
        {"text": text, "serious": True} for text in result["solver_notes"]
    ]
    target = options.target or "label"
    radius = options.radius or 0.0
    return Model(pipeline, columns, target, radius, origin), result


def _open(options: Namespace) -> Source:
    beside = {"radius": options.radius_column, "memory": options.memory}
    path = Path(options.data)
    columns = None
    if options.drop:
        aside = {options.target, options.radius_column, *options.drop}
        columns = [name for name in column_names(path) if name not in aside]
    return open_data(path, options.target, columns=columns, **beside)


def _describe(classifier: RobustLinearSVC, names, options: Namespace) -> dict:
    last = _ends(classifier)[0]
    rows = sum(last[name] for name in ("free", "saturated", "removed"))
    return {
        "target": options.target or "label",
        "classes": [str(label) for label in classifier.classes_.tolist()],
        "features": list(names),
        "rows_read": rows,
        "rows_used": rows,
    }


def _ends(classifier: RobustLinearSVC) -> list[dict]:
    """The last entry of the trace of each binary problem."""
    traces: list = [found["trace"] for found in classifier.screening_]
    return [trace[-1] for trace in traces]


def _facts(classifier: RobustLinearSVC, seconds: float) -> dict:
    """Certificates of the binary problems, and what they cost."""
    problems = []
    ends = _ends(classifier)
    for k, last in enumerate(ends):
        gap = float(classifier.dual_gap_[k])
        positive = 1 if len(ends) == 1 else k
        problems.append(
            {
                "class": str(classifier.classes_[positive]),
                "objective": last["primal"],
                "gap": gap,
                "relative_gap": gap / last["primal"] if last["primal"] > 0 else gap,
                "converged": classifier.screening_[k]["converged"],
                "iterations": int(classifier.n_iter_[k]),
                "reads": last["passes"],
            }
        )
    return {"problems": problems, "tol": classifier.tol, "seconds": seconds}
