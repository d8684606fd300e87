"""`wideberth path`: models along C and radius."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_sample_weight

from wideberth.cli import output
from wideberth.cli.commands import PathOptions
from wideberth.cli.errors import UserError
from wideberth.cli.prepare import Rows
from wideberth.cli.training import preparation, read_training_data
from wideberth.cli.uncertainty import Uncertainty
from wideberth.estimators.pipeline import carry_noise, linear_map
from wideberth.path import Path, path

__all__ = ["run"]

_COLUMNS = (
    *("C", "radius", "objective", "relative_gap", "converged", "null", "undecided"),
    *("removed", "saturated", "n_iter", "seconds"),
)


def run(options: PathOptions) -> int:
    """Write the table of models."""
    output.check_free([options.out], options.force)
    with output.Progress(options.json) as progress:
        headings, lines = _table(options.with_target(), progress)
    output.write_table(options, headings, lines)
    proven = all(line[headings.index("converged")] for line in lines)
    if options.json:
        output.write_json({"proven": proven, "path": output.records(headings, lines)})
    elif options.out and options.out != "-":
        output.say(f"{len(lines)} models written to {options.out}")
    return 0 if proven else 3


def _table(
    options: PathOptions, progress: output.Progress
) -> tuple[list[str], list[list]]:
    rows, uncertainty, _ = read_training_data(options, progress)
    classes = np.unique(rows.y)
    several = len(classes) > 2
    prepare = preparation(options, rows.X)
    headings = [*(["class"] if several else []), *_COLUMNS]
    if uncertainty.per_row:  # then models differ by the factor on the radii
        headings[headings.index("radius")] = "radius_factor"
    if options.weights:
        headings += ["intercept", *(f"weight {f}" for f in rows.columns.features)]
    lines = []
    for label in classes if several else classes[1:]:
        progress.show(f"training models of {label}" if several else "training")
        found = _one_path(options, prepare, rows, uncertainty, label)
        raw = _raw_weights(found, prepare, rows.X) if options.weights else None
        for k, j in np.argwhere(found.done):
            line = [str(label)] if several else []
            line += [getattr(found[k, j], name) for name in _COLUMNS]
            line += [] if raw is None else raw[k, j].tolist()
            lines.append(line)
    return headings, lines


def _one_path(
    options: PathOptions, prepare, rows: Rows, uncertainty: Uncertainty, label
) -> Path:
    radii = np.array(options.radii or [1.0])
    weight = options.class_weight
    try:
        found = path(
            prepare.transform(rows.X),
            np.where(rows.y == label, 1, -1),
            Cs=options.Cs or options.points,
            radii=radii if uncertainty.per_row else uncertainty.radius * radii,
            radius=uncertainty.radius if uncertainty.per_row else None,
            noise=carry_noise(uncertainty.noise, prepare, rows.X),
            sample_weight=weight and compute_sample_weight(weight, rows.y),
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
