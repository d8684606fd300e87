"""Every road from data to a model, in one table; `test_roads.py` walks them all.

A road is a form that the data is given in, a line of `FORMS`, and somebody who trains
on it, a line of `TRAINERS`; the command line has lines of its own. Whatever the road,
the answer is that of the problem, a `Case`. A road that cannot take a case refuses it
in a sentence: `REFUSALS` says which, and what the sentence must name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from road_cases import CASES, NAMES, NEW, SCALES, TOL, Answer, Case
from road_commands import BY_FEATURE, COMMANDS, CURVED_COMMANDS, GAMMA
from road_forms import CHUNKED, FOREIGN, FORMS
from wideberth import (
    Box,
    CrossPolytope,
    RobustKernelSVC,
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
    path,
    solve,
)
from wideberth.data import Source
from wideberth.problem.arrays import host
from wideberth.solvers.newton import Newton

__all__ = ["CASES", "CURVED_ROADS", "GAMMA", "NAMES", "NEW", "ROADS", "TOL", "Road"]

# -- those who train -------------------------------------------------------------------


def _solve(solver):
    def train(case, given):
        found = solve(
            given.X, given.y, C=case.C, noise=case.shape, solver=solver, tol=TOL,
            random_state=0, **_radius(case, given) | given.options, **case.penalty,
            error_shape=case.error_shape, norm_penalty=case.norm_penalty,
            ramp=case.ramp,
        )  # fmt: skip
        certificate = found.certificate
        return _of_line(case, found.w, found.b, certificate.gap + certificate.rounding)

    return train


def _in_little_room(case, given):
    """Chunks hand over groups of rows; data in memory is not concerned."""
    with mock.patch.object(Source, "capacity", return_value=40):
        return _solve("auto")(case, given)


def _path(case, given):
    found = path(
        given.X, given.y, Cs=[case.C], noise=case.shape, tol=TOL, random_state=0,
        radii=[1.0 if case.radius == "own" else case.radius], **given.beside,
        error_shape=case.error_shape, norm_penalty=case.norm_penalty, **case.penalty,
        ramp=case.ramp,
    )  # fmt: skip
    return _of_line(case, found.coefs[0, 0], found.intercepts[0, 0], found.gaps[0, 0])


def _radius(case, given):
    return {"radius": 0.0 if case.radius == "own" else case.radius} | given.beside


def _of_line(case, w, b, gap):
    """The answer of those who return w and b and do not predict themselves."""
    places = (case.new @ w + b > 0).astype(int)
    predicted = [case.labels[place] for place in places]
    return Answer(w[None], np.array([b]), np.array([gap]), predicted)


def _steering(case):
    penalty = dict(case.penalty)
    options = {"random_state": 0}
    if "intercept_penalty" in penalty:
        options["intercept_penalty"] = penalty.pop("intercept_penalty")
    return penalty | {"solver_options": options}


def _classifier(case, **more):
    radius = 0.0 if case.radius == "own" else case.radius
    options = {"noise": case.shape, "tol": TOL, **_steering(case)}
    options |= {"error_shape": case.error_shape, "norm_penalty": case.norm_penalty}
    options |= {"ramp": case.ramp} | more
    return RobustLinearSVC(C=case.C, radius=radius, **options)


def _estimator(case, given, model=None):
    model = (model or _classifier(case)).fit(given.X, given.y, **given.beside)
    return _of_model(model, model, given.like(case.new))


def _by_name(case, given):
    """Noise scales by name, in another order than the columns."""
    scales = pd.Series(SCALES, index=list(NAMES)).sort_index()
    kind = {"tolerances": Box, "budget": CrossPolytope}.get(case.noise, lambda s: s)
    return _estimator(case, given, _classifier(case, noise=kind(scales)))


def _pipeline(case, given):
    identity = StandardScaler(with_mean=False, with_std=False)
    model = make_robust_pipeline(identity, _classifier(case))
    beside = {f"robustlinearsvc__{name}": v for name, v in given.beside.items()}
    model.fit(given.X, given.y, **beside)
    return _of_model(model, model[-1], given.like(case.new))


def _search(case, given):
    radii = [1.0 if case.radius == "own" else case.radius]
    model = RobustLinearSVCCV(
        [case.C], radii, noise=case.shape, cv=2, tol=TOL,
        error_shape=case.error_shape, norm_penalties=[case.norm_penalty],
        ramps=None if case.ramp is None else [case.ramp], **_steering(case),
    )  # fmt: skip
    model.fit(given.X, given.y, **given.beside)
    return _of_model(model, model, given.like(case.new))


def _of_model(model, fitted, new):
    parts = (fitted.coef_, fitted.intercept_, fitted.dual_gap_)
    predicted = model.predict(new)
    predicted = predicted if isinstance(predicted, np.ndarray) else host(predicted)
    return Answer(*map(host, parts), predicted.tolist(), model)


TRAINERS = {
    "solve": _solve("auto"),
    "solve by newton": _solve("newton"),
    "solve by newton, an object": _solve(Newton()),
    "solve in little room": _in_little_room,
    "solve by coordinate": _solve("coordinate"),
    "solve by conic": _solve("conic"),
    "path": _path,
    "estimator": _estimator,
    "estimator, noise by name": _by_name,
    "pipeline": _pipeline,
    "search": _search,
}


# -- curved boundaries -----------------------------------------------------------------


def machine(case, C=None, **more):
    """A kernel machine, for which every row that differs is a landmark."""
    options = {"random_state": 0}
    if case.intercept:
        options["intercept_penalty"] = case.intercept
    return RobustKernelSVC(
        case.C if C is None else C,
        None if case.radius == "own" else case.radius,
        gamma=GAMMA,
        n_components=len(case.X),
        noise=case.shape,
        error_shape=case.error_shape,
        tol=TOL,
        solver_options=options,
        **more,
    )


def _machine(case, given):
    return _estimator(case, given, machine(case))


def _machine_behind_steps(case, given):
    identity = StandardScaler(with_mean=False, with_std=False)
    model = make_robust_pipeline(identity, machine(case))
    beside = {f"robustkernelsvc__{name}": v for name, v in given.beside.items()}
    model.fit(given.X, given.y, **beside)
    return _of_model(model, model[-1], given.like(case.new))


def _machine_that_chooses(case, given):
    """Among values of C that are the same."""
    return _estimator(case, given, machine(case, [case.C, case.C], cv=2))


CURVED_TRAINERS = {
    "kernel machine": _machine,
    "kernel machine in a pipeline": _machine_behind_steps,
    "kernel machine that chooses": _machine_that_chooses,
}


# -- the table of roads ----------------------------------------------------------------


@dataclass(frozen=True)
class Road:
    """A form of data and who trains on it."""

    form: str
    trainer: str
    curved: bool = False

    @property
    def name(self):
        return f"{self.form} → {self.trainer}"

    def answer(self, case: Case, folder: Path) -> Answer:
        """Walk it; files go into an empty folder."""
        if self.curved and self.form == "file":
            return CURVED_COMMANDS[self.trainer](case, folder)
        if self.curved:
            given = FORMS[self.form](case, folder)
            return CURVED_TRAINERS[self.trainer](case, given)
        if self.trainer in COMMANDS:
            return COMMANDS[self.trainer](case, folder)
        return TRAINERS[self.trainer](case, FORMS[self.form](case, folder))

    def is_there(self, case: Case) -> bool:
        """Whether the case can be put in this form, and said to this trainer."""
        numbers = all(isinstance(label, int) for label in case.labels)
        if "LIBSVM" in self.name and not numbers:
            return False  # the format holds numbers
        if self.trainer == "solve in little room" and case.errors is not None:
            return False  # sets of their own form no groups: it ends without a proof
        if self.trainer == "estimator, noise by name":
            return case.noise in BY_FEATURE and self.form in ("pandas", "polars")
        if self.trainer not in COMMANDS:
            return True
        if case.intercept != 0 or case.weighted or case.noise == "covariance":
            return False  # no option says so
        # Columns of LIBSVM text have no names of their own.
        return "LIBSVM" not in self.trainer or (
            case.radius != "own" and case.noise not in BY_FEATURE
        )

    def refusal(self, case: Case) -> str | None:
        """What the sentence must name, one reason or another, where it is refused."""
        reasons = [said for holds, said in REFUSALS if holds(self, case)]
        return "|".join(reasons) or None


ESTIMATORS = ("estimator", "estimator, noise by name", "pipeline", "search")
ROADS = [Road(form, trainer) for form in FORMS for trainer in TRAINERS]
ROADS += [Road("file", trainer) for trainer in COMMANDS]

CURVED_ROADS = [Road(form, one, True) for form in FORMS for one in CURVED_TRAINERS]
CURVED_ROADS += [Road("file", trainer, True) for trainer in CURVED_COMMANDS]

_ONE_LINE = [name for name in TRAINERS if name not in ESTIMATORS]

#: Which roads refuse which cases, and what the sentence must name.
REFUSALS: list[tuple[Callable[[Road, Case], bool], str]] = [
    # What is read in chunks is solved by Newton's method, one problem at a time.
    (lambda r, c: r.form in CHUNKED and r.trainer == "solve by coordinate", "in memory"),
    (lambda r, c: r.form in CHUNKED and r.trainer == "solve by conic", "in memory"),
    (lambda r, c: r.form in CHUNKED and r.trainer in ("path", "search", "kernel machine that chooses"), "in memory"),
    (lambda r, c: r.form in CHUNKED and "pipeline" in r.trainer and c.errors is not None, "in memory"),
    (lambda r, c: r.form in FOREIGN and r.trainer == "pipeline", "in memory"),
    # Rows that the ramp leaves out are known of those in memory.
    (lambda r, c: (r.form in CHUNKED or "pieces" in r.trainer) and c.ramp is not None, "in memory|whole table"),
    # Three classes are for the estimators.
    (lambda r, c: r.trainer in _ONE_LINE and len(c.labels) > 2, "RobustLinearSVC"),
    # Solvers that are for some shapes of noise.
    (lambda r, c: r.trainer == "solve by coordinate" and (c.noise != "l2" or c.errors), "solver='newton'|solver='conic'"),
    # Errors: formats without a place for them, and arrays of other libraries.
    (lambda r, c: r.form == "LIBSVM" and c.errors is not None, "no place for errors"),
    (lambda r, c: r.form.startswith("Dask") and c.errors == "lopsided", "Dask"),
    (lambda r, c: r.form in FOREIGN and r.trainer in ESTIMATORS and c.errors is not None, "another library"),
    (lambda r, c: r.form in FOREIGN and r.trainer != "path" and c.errors == "lopsided", "another library"),
    (lambda r, c: "line, LIBSVM" in r.trainer and c.errors is not None, "matches no column"),
    (lambda r, c: r.form in FOREIGN and r.trainer == "kernel machine in a pipeline", "in memory"),
    (lambda r, c: r.curved and r.form in FOREIGN and c.errors is not None, "another library"),
    (lambda r, c: r.curved and ("CSR" in r.form or r.form == "LIBSVM"), "dense"),
    (lambda r, c: r.curved and r.trainer == "command line, LIBSVM", "sparse"),
    (lambda r, c: r.curved and "in pieces" in r.trainer, "whole table"),
]  # fmt: skip
