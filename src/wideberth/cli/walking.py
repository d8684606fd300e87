"""What `wideberth path` computes."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import scipy.sparse as sp

from wideberth.cli.analysis import row_weights
from wideberth.cli.errors import UserError
from wideberth.cli.fitting import read_training_data
from wideberth.cli.prepare import Rows
from wideberth.cli.progress import Progress
from wideberth.cli.recipe import Recipe
from wideberth.cli.uncertainty import Uncertainty
from wideberth.estimators.pipeline import carry_noise, linear_map
from wideberth.path import Path, path

__all__ = ["walk"]

_COLUMNS = (
    "C",
    "radius",
    "objective",
    "relative_gap",
    "converged",
    "null",
    "undecided",
    "removed",
    "saturated",
    "n_iter",
    "seconds",
)


def walk(options: Namespace, progress: Progress) -> tuple[list[str], list[list]]:
    """Headings and lines of the table of models."""
    rows, uncertainty, _ = read_training_data(options, progress)
    classes = np.unique(rows.y)
    several = len(classes) > 2
    prepare = Recipe.of(options, rows.X, uncertainty).preparation().fit(rows.X)
    # Where rows have radii of their own, models differ by the factor on them.
    names = [
        "radius_factor" if n == "radius" and uncertainty.per_row else n
        for n in _COLUMNS
    ]
    headings = [*(["class"] if several else []), *names]
    if options.weights:
        headings += ["intercept", *(f"weight {f}" for f in rows.columns.features)]
    lines = []
    for label in classes if several else classes[1:]:
        progress.show(f"training models of {label}" if several else "training")
        found = _one_path(options, prepare, rows, uncertainty, label)
        raw = _raw_weights(found, prepare, rows.X) if options.weights else None
        for k, j in np.argwhere(found.done):
            point = found[k, j]
            line = [str(label)] if several else []
            line += [getattr(point, name) for name in _COLUMNS]
            line += [] if raw is None else raw[k, j].tolist()
            lines.append(line)
    return headings, lines


def _one_path(
    options: Namespace, prepare, rows: Rows, uncertainty: Uncertainty, label
) -> Path:
    radii = np.array(options.radii or [1.0])
    try:
        found = path(
            prepare.transform(rows.X),
            np.where(rows.y == label, 1, -1),
            Cs=options.Cs or options.points,
            radii=radii if uncertainty.per_row else uncertainty.radius * radii,
            radius=uncertainty.radius if uncertainty.per_row else None,
            noise=carry_noise(uncertainty.noise, prepare, rows.X),
            fit_intercept=True,
            sample_weight=row_weights(rows, options),
            tol=options.tol,
            random_state=options.seed,
            quiet=True,
        )
    except ValueError as error:
        raise UserError(str(error)) from error
    if not found.complete:
        raise KeyboardInterrupt  # path gives what it has; half a table is no result
    return found


def _raw_weights(found: Path, prepare, X) -> np.ndarray:
    """Intercepts and weights in the units of the data, shape (radii, Cs, 1 + d)."""
    origin = np.zeros((1, X.shape[1]))
    shift = np.ravel(
        prepare.transform(sp.csr_array(origin) if sp.issparse(X) else origin)
    )
    weights = found.coefs @ linear_map(prepare, X).toarray()
    intercepts = found.intercepts + found.coefs @ shift
    return np.concatenate([intercepts[..., None], weights], axis=2)
