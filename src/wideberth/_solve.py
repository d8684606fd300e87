"""`solve`: train a robust SVM and prove how good the answer is.

Read the arguments, presolve, choose a solver, run attempts until one proves the
tolerance, undo the presolve. The certificate of a `Solution` was evaluated on all n
samples of the original problem, with the exact pair (w,b), α that it holds. Data that
is read in chunks goes to the driver (`solvers/driver.py`) as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from wideberth.data.batches import Chunks
from wideberth.data.errors import DataError
from wideberth.data.opening import (
    errors_in_memory,
    is_scaled,
    names_values,
    open_labelled,
)
from wideberth.data.samples import Classes, Terms
from wideberth.data.sources import Source, logged
from wideberth.noise import as_shape
from wideberth.noise.reading import check_errors_alone
from wideberth.problem import Pair, Problem
from wideberth.problem.arrays import host, is_foreign, like
from wideberth.problem.certificate import PROVABLE
from wideberth.problem.changes import (
    Presolved,
    blur,
    build_problem,
    cut_radii,
    merge_rows,
    out_of_range,
)
from wideberth.problem.endpoints import Bracket, critical_scale
from wideberth.problem.limits import EPS
from wideberth.problem.ramp import Ramp
from wideberth.problem.statement import Statement, from_keywords
from wideberth.problem.validation import (
    check_number,
    check_vector,
    radius_or_default,
    short,
)
from wideberth.results import RampDescent, Solution, certified_solution, null_model
from wideberth.screening import (
    Partition,
    null_point,
    screen_at_hand,
    screen_features,
    tells_something,
)
from wideberth.solvers.attempts import Solve, null_pair, prove
from wideberth.solvers.base import Control, Options
from wideberth.solvers.driver import Driver
from wideberth.solvers.ramp import Descended, Descent
from wideberth.solvers.registry import check_choices, choose_solver
from wideberth.solvers.starts import WarmStart

#: Matrices of features × features that are held at once (8 000 features, at 512 MB a
#: matrix, took 1.1 GB of memory).
_MATRICES = 3
#: Number of steps towards the critical radius that a warning states: they cost no more
#: than the solution does, and halve the bracket that its α leaves, or better (tables
#: of 200 to 70 000 rows). `critical_radius` goes on to a thousandth.
_STEPS_OF_A_WARNING = 4


def solve(
    X,
    y=None,
    *,
    C=1.0,
    radius=None,
    noise="l2",
    X_err=None,
    error_shape="ellipsoid",
    norm_penalty=0.0,
    ramp=None,
    starts=1,
    fit_intercept=True,
    intercept_penalty=0.0,
    sample_weight=None,
    loss="hinge",
    quantile=0.5,
    solver="auto",
    screening="ellipsoid",
    tol=1e-6,
    max_iter=10_000,
    max_seconds=None,
    init=None,
    callback: Callable[[dict], bool | None] | None = None,
    random_state=None,
    quiet=False,
    memory=None,
    verbose=False,
) -> Solution:
    """Train a robust SVM or a robust quantile regression, with a certificate.

    Minimises ½‖w‖² + ½λ_b b² + s₀Ω(w) + Σ c_i [1 − y_i(⟨w,x_i⟩ + b) + ρ_i Ω(w)]_+ .

    With loss="quantile" y holds numbers, r_i = y_i − ⟨w,x_i⟩ − b are the residuals, and
    the loss of a sample is the largest pinball loss that its noise allows:
    max(τ(r_i + ρ_iΩ(w)), (1−τ)(ρ_iΩ(w) − r_i)).

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or data that is read in chunks
        float32 and float64 are used without a copy; only large, wide arrays that are
        mostly zeros are converted to sparse ones. `wideberth.data.open_data` describes
        files, Dask collections, arrays of other libraries and iterables of chunks.
    y : array of shape (n,)
        Labels of two classes, of any kind. The second in sorted order is the positive
        class, as in scikit-learn; see `Solution.classes`. With loss="quantile" the
        numbers to predict.
    C : float
        Weight of the losses; c_i = C · sample_weight_i.
    radius : float or array of shape (n,), optional
        ρ_i, how far each sample may be off: the size of its whole error vector. With
        scales in `noise` or with `X_err` it is in these units, and 1 by default. For a
        norm without scales, such as "l2", it is in the units of X, and 0 by default.
    noise : {"l2", "linf", "l1"}, array of shape (d,) or (d, d), Box, CrossPolytope or \
            Correlated
        Shape of the noise: a Euclidean ball, a box, a cross-polytope, an ellipsoid with
        one scale for each feature, or an ellipsoid given by a covariance or its factor
        (`wideberth.Correlated`). `wideberth.Box` and `wideberth.CrossPolytope` take a
        tolerance for each feature. A covariance is solved in its principal axes, on a
        dense float64 copy of X; the certificate is about X and the covariance as given.
        A Series, dict or frame is aligned with the columns of X by name.
    X_err : array or CSR matrix of shape (n, d), or (n, d, d), or a pair, optional
        Error bars: how far every cell of X may be off, 0 where it is exact. Frames are
        aligned with X by the names of columns, and those of pandas by the labels of
        rows; other labels are refused. A covariance for every sample has three
        dimensions. With error_shape="box" a pair (down, up) of positive numbers states
        asymmetric tolerances: a cell moves by at most ρ_i·down and ρ_i·up. They are two
        tables in a tuple or a list, or an array of shape (n, d, 2).
        `wideberth.errors.fill` fills missing errors. For data that is read in chunks
        see `wideberth.data.open_data`; for a table, for example, a dict of feature to
        error column (`wideberth.errors.columns`).
    error_shape : {"ellipsoid", "box"}
        "ellipsoid" if `X_err` holds standard errors: Σ(δ_j/e_j)² is at most ρ². "box"
        if it holds tolerances: all cells may be off by ρ tolerances at once.
    norm_penalty : float
        s₀ ≥ 0, a penalty on Ω(w) outside the hinge loss. With "linf" it is on ‖w‖₁, and
        the model is the elastic-net SVM. With radius 0 it is the SVM that is robust in
        the Wasserstein distance, plus ½‖w‖². With error_shape="box" the penalty is
        s₀‖w‖₁.
    ramp : float, optional
        a ≤ 0, for labels that may be wrong: the loss of a sample is at most c_i(1 − a),
        which is reached at a robust margin of a. −1 is usual; −∞ and None are the hinge
        loss. The objective is then not convex. The certificate is about the models that
        leave the same samples out. No step raises the objective; see
        `Solution.descent`.
    starts : {1, 2, 3}
        Number of starting points with a ramp: the solution with the hinge loss; the
        class means; and the solution with the hinge loss without the samples that it
        classifies wrongly. The best result is kept. Each takes about the same time.
    fit_intercept : bool
        Whether to fit b. Noise does not apply to it.
    intercept_penalty : float
        λ_b; 0 leaves the intercept free.
    sample_weight : array of shape (n,), optional
    loss : {"hinge", "quantile"}
        "hinge" separates two classes; "quantile" predicts a number. Then `removed` and
        `saturated` are samples that are proven to lie on one side of the fit: for τ ≤ ½
        above and below it, for τ > ½ below and above it. With noise the fit counts
        as moved up by (1 − 2τ)ρ_iΩ(w).
    quantile : float
        τ between 0 and 1, with loss="quantile": without noise a fraction of about τ of
        the samples lies below the fit. 0.5, the median, gives least absolute
        deviations.
    solver : {"auto", "newton", "coordinate", "columns", "conic"}
        "newton" is for tall data and every shape; "coordinate" for sparse or wide data
        with "l2" noise; "columns" for wide data with boxes, where few features have a
        weight; "conic" is an independent check for every shape (extra `conic`). With
        "l2" noise "auto" begins with "coordinate" and changes to "newton" if that is
        predicted to be faster. With other noise it chooses by the shape and density of
        the data. `Solution.solver` names the last one. On small data Newton's method is
        compiled and does without screening. Or a solver object of your own (see the
        page on extending wideberth).
    screening : {"ellipsoid", "midpoint", "gap"} or None
        Safe region of the screening, which finds samples that cannot influence the
        model.
    tol : float
        Stop when the gap plus its rounding bound is at most `tol` times the objective,
        on the full problem. With loss="quantile" it is `tol` times the loss of the best
        constant, if that is larger, because a perfect fit has the objective 0. Below
        1e-9 the computed gap must be at most `tol`, and the gap plus its rounding bound
        at most 1e-9; float64 cannot prove less. On small data Newton's method goes on
        to tol², but not below 1e-9, since its last steps take little time.
    max_iter : int
        Largest number of Newton steps (including those on subsamples) or of epochs of
        the coordinate solver.
    max_seconds : float, optional
        Stop after about this time with the best answer so far.
    init : Solution or (w, b, alpha), optional
        Starting point. If it is the solution, the run takes the two passes that certify
        it.
    callback : callable, optional
        Called with a dict at every point whose gap is known, an entry of
        `Solution.trace`; return True to stop. With a callback each entry has the
        numbers of samples that its points decide, which costs up to two products more.
    random_state : int or Generator, optional
        Determines the subsamples, and the order in which the coordinate solver visits
        samples. The answer is within `tol` for every value, and the same for the same
        value. None is 0.
    quiet : bool
        Leave warnings in `Solution.notes` instead of issuing them.
    memory : int or str, optional
        For data that is read in chunks: the memory that the process may hold, such as
        "2GB".
    verbose : bool
        For data that is read in chunks: show passes and gap on standard error.

    Returns
    -------
    Solution

    Warns
    -----
    ConvergenceWarning
        If `tol` was not proven.
    NullModelWarning
        If the best robust model is constant (w = 0).
    """
    given = locals()
    statement, options = from_keywords(Statement, given), from_keywords(Options, given)
    solution = solve_stated(X, y, statement, options, memory, verbose)
    for note in () if quiet else solution.notes:
        warnings.warn(note, stacklevel=2)
    return solution


def solve_stated(
    X, y, statement: Statement, options: Options, memory=None, verbose: bool = False
) -> Solution:
    """`solve` without a word: warnings stay in `Solution.notes`."""
    check_choices(options.solver, options.screening)
    if is_scaled(X, y):
        return _solve_in_chunks(X, y, statement, options, memory, verbose)
    if is_foreign(X):
        return _solve_on_host(X, y, statement, options)
    if statement.X_err is not None:
        errors_in_memory(statement.X_err, X)
    presolved = merge_rows(cut_radii(build_problem(X, y, statement)))
    return solve_presolved(presolved, statement.level, options)


# -- in memory -------------------------------------------------------------------------


def _solve_on_host(X, y, statement: Statement, options: Options) -> Solution:
    """`solve` in NumPy for a few rows of another library; α comes back beside X."""
    if is_foreign(errors := statement.X_err):
        statement = replace(statement, X_err=host(errors))
    elif errors is not None:
        errors_in_memory(errors, X)
    solution = solve_stated(host(X), y, statement, options)

    def decided():
        return like(solution.removed, X), like(solution.saturated, X)

    descent = solution.descent
    if descent is not None:
        descent = replace(descent, left_out=like(descent.left_out, X))
    alpha = like(solution.alpha, X)
    return replace(solution, dual_weights=alpha, decided=decided, descent=descent)


def solve_presolved(presolved: Presolved, ramp: float, options: Options) -> Solution:
    """`solve` from the presolved problem on."""
    problem, init = presolved.posed, options.init
    control = options.control(problem)
    control.callback = presolved.callback(options.callback)
    with np.errstate(all="ignore"):  # what overflows is certified, or not
        start = None if init is None else _start(presolved, init)
        chosen = choose_solver(problem, options.solver)
        control.solver = chosen.name
        if ramp > -np.inf:
            descent = Descent(Ramp(problem, ramp), control, chosen)
            descended = descent.run(options.starts, start)
            return _solution(presolved, control, descended.found, descended)
        known = None if start is None else start.pair
        if known is None or known.gap > control.tol * known.point.scale:
            # Radii beyond the range of float64 mean w = 0, or are refused. Beside
            # folded sets per sample w = 0 is a kink that Newton's method is slow at.
            kink = problem.folded is not None and not problem.noise.proportional
            known = null_pair(problem) if kink or presolved.cut is not None else None
        first: Solve = partial(chosen.solve, start=start)
        found = presolved.held(problem, prove(problem, control, known, first))
        return _solution(presolved, control, found)


def _start(presolved: Presolved, init: object) -> WarmStart | None:
    """The user's `init` as a warm start; None where it tells no more than w = 0."""
    problem = presolved.posed
    if isinstance(init, Solution):
        init = init.w, init.b, init.alpha
    if not isinstance(init, tuple | list) or len(init) != 3:
        raise ValueError(
            f"init={short(init)} must be a Solution or a tuple (w, b, alpha or None)."
        )
    w, b, alpha = init
    w = check_vector(w, problem.rows.d, "w of init")
    if np.ndim(b) > 0:
        raise ValueError(f"b of init has shape {np.shape(b)}; it must be one number.")
    b = float(check_vector([b], 1, "b of init")[0])
    if alpha is not None:
        alpha = check_vector(alpha, presolved.n, "alpha of init")
    w, b, alpha = presolved.inward(w, b, alpha)
    point = problem.at(w, b)
    if not tells_something(point, null_point(problem)):
        return None
    if alpha is None:  # the best multiple of all samples at the bound on their side
        at_bounds = problem.dual_at(problem.weights * (point.slack > 0))
        alpha = problem.stretched(at_bounds).alpha
    return WarmStart(problem, point, alpha)


@dataclass
class _Proven:
    """What a pair of points proves about samples and features, when asked for."""

    presolved: Presolved
    problem: Problem
    found: Pair
    region: str | None

    @cached_property
    def _partition(self) -> Partition:
        with np.errstate(all="ignore"):  # what overflows decides nothing
            region = self.region or "ellipsoid"
            return screen_at_hand(self.problem, self.found, region)

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """Masks of those proven to be at 0 and at their weight."""
        if self.region is None:
            return (nothing := np.zeros(self.presolved.n, dtype=bool)), nothing
        decided = self._partition
        return self.presolved.decided(decided.removed, decided.saturated)

    def features(self) -> np.ndarray:
        """A mask of those proven to have no weight."""
        return screen_features(self.problem, self.found, self._partition)


def _solution(
    presolved: Presolved,
    control: Control,
    found: Pair,
    descended: Descended | None = None,
) -> Solution:
    """What was found, in the user's units; with a ramp, on the samples kept."""
    problem, certificate, descent = presolved.posed, found.certificate, None
    if descended is not None:
        left, certificate = descended.left, descended.certificate
        problem = Ramp(problem, descended.level).rest(left.samples)
        descent = RampDescent(
            descended.level,
            presolved.left_out(left.samples),
            tuple(presolved.value(value) for value in descended.objectives),
            descended.start,
            descended.ending,
        )
    dual, region = found.dual, control.screening
    proven = _Proven(presolved, problem, found, region)
    presolved.refuse_cut_radii(found.point.w)
    w, b, alpha = presolved.outward(found.point.w, found.point.b, dual.alpha)

    def remedy() -> str | None:
        return None if control.exhausted() else out_of_range(problem, presolved)

    def null() -> Warning:
        ones = presolved.unit_radii if descent is None else problem.with_radii(1.0)
        limit = critical_scale(ones, start=dual.alpha, max_iter=_STEPS_OF_A_WARNING)
        bounds = presolved.radius(limit.lower), presolved.radius(limit.upper)
        noisy = bool((dual.alpha * presolved.problem.radii).any())
        left = descent is not None and bool(host(descent.left_out).any())
        return null_model(str(Bracket(*bounds)), noisy, problem.penalty > 0, left)

    zeros = region is not None and presolved.basis is None
    return certified_solution(
        control,
        presolved.certificate(certificate),
        remedy,
        null,
        w=w,
        b=b,
        dual_weights=alpha,
        decided=proven.samples,
        solver=control.solver,
        passes=problem.rows.passes.count,
        trace=[presolved.entry(entry) for entry in control.trace],
        classes=problem.classes,
        prover=proven.features if zeros else None,
        descent=descent,
    )


# -- in chunks -------------------------------------------------------------------------


def _solve_in_chunks(
    X, y, statement: Statement, options: Options, memory, verbose: bool
) -> Solution:
    """Open the data and train on it."""
    radius, noise = statement.radius, statement.noise
    one = radius is None or (np.ndim(radius) == 0 and not names_values(X, radius))
    if one:  # before anything is read
        check_number(radius_or_default(radius, noise), "radius")
    source = open_labelled(
        X,
        y,
        sample_weight=statement.sample_weight,
        radius=None if one else radius,
        X_err=statement.X_err,
        memory=memory,
    )
    radius = (
        radius_or_default(radius, noise, source.brings_errors or None) if one else 0.0
    )
    statement = replace(statement, radius=radius)
    classes = None if statement.tilt else Classes.two(source.some_labels())
    return solve_source(source, statement, options, classes, verbose)


def solve_source(
    source: Source,
    statement: Statement,
    options: Options,
    classes: Classes | None = None,
    verbose: bool = False,
) -> Solution:
    """Train on an open source, which brings weights and errors, if any, of its own."""
    _check_in_chunks(source, statement, options)
    callback = logged(options.callback, verbose)
    control = replace(options, callback=callback).control()
    terms = _terms(source, statement, classes)
    chunks = Chunks(source, terms, float(statement.norm_penalty))
    search = Driver(chunks, control)
    search.run(search.begin())
    return _solution_in_chunks(search, terms, control, source)


def _check_in_chunks(source: Source, statement: Statement, options: Options) -> None:
    """Refuse what needs the data in memory, or more features than memory holds."""
    name = getattr(options.solver, "name", options.solver)
    if name not in ("auto", "newton"):
        raise ValueError(
            f"solver={name!r} needs the data in memory; data that is read in chunks "
            "is solved by 'newton', which 'auto' stands for."
        )
    if statement.level > -np.inf:
        raise ValueError(
            f"ramp={statement.ramp:g} needs the data in memory, where rows are left "
            "out in turn; find labels that may be wrong on a sample of the rows, "
            "open_data(...).sample(100_000), or leave ramp out."
        )
    if options.init is not None:
        raise ValueError(
            "init is for data in memory; data that is read in chunks starts from a "
            "sample of its rows."
        )
    size, room = _MATRICES * 8 * source.d**2, source.room
    if size > room:
        raise DataError(
            f"The data has {source.d} features, and to train on data in chunks takes "
            f"matrices of features × features, {size / 1e9:.3g} GB, where there is "
            f"room for {room / 1e9:.3g} GB. Sparse rows may fit in memory whole: give "
            "a SciPy matrix, or on the command line no --memory. Otherwise choose "
            "fewer features, or raise memory."
        )


def _terms(source: Source, statement: Statement, classes: Classes | None) -> Terms:
    """What the problem is made of, but for its rows."""
    if source.brings_errors:
        check_errors_alone(statement.noise, statement.error_shape)
    shape = as_shape(statement.noise, source.d, source.names)
    return Terms(
        source.d,
        float(statement.C),
        check_number(statement.radius_or_default, "radius"),
        shape.principal,
        statement.intercept,
        classes,
        shape.axes,
        {} if source.stays else None,
        statement.error_shape if source.brings_errors else None,
        statement.tilt,
        statement.side,
    )


def _solution_in_chunks(
    search: Driver, terms: Terms, control: Control, source: Source
) -> Solution:
    """The result of a run of the driver.

    Where the source stays, what is proven of the rows is computed when asked for.
    """
    point, region = search.point, control.screening
    alpha: object = lambda: search.dual_weights(None)[0]  # noqa: E731
    decided: object = lambda: search.dual_weights(region, recorded=False)[1:]  # noqa: E731
    if not source.stays:
        alpha, *decided = search.dual_weights(region)
    classes = None if terms.tilt else np.array([-1, 1])
    if terms.classes is not None and len(terms.classes.labels) == 2:
        classes = terms.classes.labels

    def remedy() -> str | None:
        if search.crowded:
            return "too many rows are near the margin for the memory allowed: raise it"
        blurred = blur(terms.noise, terms.d) * EPS >= PROVABLE
        known = blurred and not control.exhausted()
        return f"rounding forbids more: {terms.noise.remedy}" if known else None

    def null() -> Warning:
        noisy = search.proof is not None and search.proof.dual.s > 0
        noisy = noisy or terms.error_shape is not None
        penalised = search.batches.penalty > 0
        return null_model("at most the one given", noisy, penalised)

    return certified_solution(
        control,
        search.certificate,
        remedy,
        null,
        w=point.w if terms.turn is None else terms.turn @ point.w,
        b=point.b,
        dual_weights=alpha,
        decided=decided,
        solver="newton",
        passes=float(search.passes),
        classes=classes,
    )
