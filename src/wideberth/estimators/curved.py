"""Curved boundaries: models on the features of a `Nystroem` step (theory §19).

A kernel k(x,x') = ⟨φ(x),φ(x')⟩ with k(x,x) = 1 that depends on ‖x−x'‖ alone says how
far the image of a sample moves, exactly:

    ‖φ(x+δ) − φ(x)‖ = R(‖δ‖) ,   R(ρ)² = 2 − 2k(ρ) ,
    k(ρ) = exp(−γρ²) of the Euclidean length ("rbf"), exp(−γρ) of ‖δ‖₁ ("laplacian").

`Nystroem` has m landmarks c_j and features z(x) = N(k(x,c_1), …, k(x,c_m)), which are
nearly the coordinates of a projection of φ(x), so they move by R at most, or nearly.

**Training** is against Euclidean moves of size R(ρ_i) of z(x_i), where ρ_i is the
longest move of the noise of sample i.

**Certificates** do not ask how near to a projection N is. With v = Nᵀw the model is
f(x) + b = ⟨w,z(x)⟩ + b with f = Σ v_jk(·,c_j), whatever eigenvalues were cut off or
lost to rounding, and ‖f‖² = vᵀKv with K = (k(c_i,c_j)). A move δ of length ρ changes f
by ‖f‖R(ρ) at most. The value and the gradient at x say more (RBF; the Laplacian kernel
has no gradient at x, and ∇f = 0 below): f = p + q with p orthogonal to q, where p is
made of φ(x) and ∂φ(x) and q has neither a value nor a gradient there, so that

    f(x+δ) = k(ρ)(f(x) + ⟨∇f(x),δ⟩) + q(x+δ) ,   |q(x+δ)| ≤ ‖q‖P(2γρ²)^½ ,
    ‖q‖² = ‖f‖² − f(x)² − ‖∇f(x)‖²/2γ ,   P(t) = 1 − e⁻ᵗ(1+t) .

The better of the two bounds counts, and no move that is too short for it to reach zero
changes a class. What rounding leaves open of f is taken off |f(x) + b|, and what it
leaves open of the steps before the kernel off ρ. Longer moves may or may not change the
class: these radii are lower bounds, where those of linear models are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.special import gammainc
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import _safe_indexing, gen_batches

from wideberth import certify
from wideberth.data.samples import Samples
from wideberth.estimators.linear import Judged
from wideberth.estimators.moves import dense
from wideberth.noise import Correlated, Covariances, ErrorBars, Shape
from wideberth.noise.reading import errors_beside
from wideberth.noise.sets import Sets
from wideberth.problem.arrays import host
from wideberth.problem.limits import CACHED_ENTRIES
from wideberth.problem.validation import check_per_sample

#: The power of the length in −ln k, and the order of the norm, of each kernel.
_KERNELS = {"rbf": 2, "laplacian": 1}
#: Steps of the search for the worst move; the best of them counts (a choice).
_STEPS = 12
#: The least and the largest ln(γρᵒ) that are told from 0 and ∞: e^−exp(6.7) is 0.
_POWERS = (-70.0, 6.7)
_HALVINGS = 50
#: Entries of the kernel between rows and landmarks that are computed at a time, 32 MB
#: of them (a choice).
_ENTRIES = 1 << 22


def blocks(n: int, m: int) -> list[slice]:
    """Slices of n rows, of m features each."""
    return [*gen_batches(n, _ENTRIES // m + 1)]


def features(step: Nystroem, X: np.ndarray) -> np.ndarray:
    """What a fitted kernel step makes of rows, block by block."""
    Z = np.empty((len(X), len(step.components_)))
    for rows in blocks(*Z.shape):
        Z[rows] = step.transform(X[rows])
    return Z


@dataclass(frozen=True)
class Curve:
    """A fitted `Nystroem` step: its kernel, its landmarks and its matrix."""

    landmarks: np.ndarray  # (m, d)
    matrix: np.ndarray  # N
    gamma: float
    order: int  # of the norm, and of the length in −ln k
    unit: float  # of rounding: that of float64, or of float32 data

    @classmethod
    def of(cls, name: str, step: Nystroem) -> Curve:
        """What a fitted step does; kernels of another kind are refused by name."""
        landmarks = step.components_
        if not isinstance(landmarks, np.ndarray):
            _refuse(name, "its landmarks are sparse", "Make X dense before it.")
        if step.kernel not in _KERNELS:
            _refuse(
                name,
                f"kernel={step.kernel!r} has no bound on how far its features move",
                "Use kernel='rbf' or 'laplacian'.",
            )
        gamma = step.gamma
        if gamma is None:
            gamma = (step.kernel_params or {}).get("gamma")
        gamma = 1.0 / landmarks.shape[1] if gamma is None else float(gamma)
        if not 0 < gamma < np.inf:
            _refuse(name, f"gamma={gamma:g}", "Give a positive number.")
        unit = float(np.finfo(step.normalization_.dtype).eps)
        matrix = np.asarray(step.normalization_, dtype=np.float64)
        landmarks = np.asarray(landmarks, dtype=np.float64)
        return cls(landmarks, matrix, gamma, _KERNELS[step.kernel], unit)

    def modulus(self, length):
        """R(ρ): how far features move, at most, when the input moves by ρ."""
        length = np.asarray(length, dtype=np.float64)
        return np.sqrt(-2 * np.expm1(-self.gamma * length**self.order))

    def fall(self, length, known: Known):
        """How far f may fall, at most, within moves of this length; increases with it.

        k(ρ)(f(x) − ‖∇f(x)‖ρ) is least at the length `turn`.
        """
        start, slope = known.start, known.slope
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.hypot(start, np.sqrt(2 / self.gamma) * slope)
            ahead, behind = (start + root) / (2 * slope), slope / (root - start)
            turn = np.where(start > 0, ahead, behind / self.gamma)
        at = np.fmin(length, turn)
        power = -self.gamma * at**self.order
        near = np.exp(power) * slope * at - start * np.expm1(power)
        left = gammainc(self.order, 2 * self.gamma * length**self.order)
        return np.minimum(
            near + known.rest * np.sqrt(left), known.norm * self.modulus(length)
        ) * (1 + 1e-12)

    def extents(self, sets: Sets, linear) -> np.ndarray | float:
        """The longest move in front of the kernel of each set, or somewhat more."""
        d = linear.shape[0]
        if isinstance(sets, Shape | ErrorBars):
            sets = sets.carried(linear)
        sides = getattr(sets, "sides", None)
        if sides is not None:
            longest = np.linalg.norm(np.maximum(*sides), ord=self.order, axis=1)
        elif self.order == 2:
            longest = sets.lipschitz(d)
        elif isinstance(sets, Correlated | Covariances):
            longest = np.sqrt(d) * sets.lipschitz(d)
        else:
            longest = sets.supports(np.ones(d))
        error = getattr(sets, "support_error", 0.0) * np.sqrt(d)
        return (longest + error) * (1 + 1e-12)

    # -- a model on these features ----------------------------------------------------

    def kernel(self, Z) -> np.ndarray:
        """k(z_i, c_j)."""
        metric = "sqeuclidean" if self.order == 2 else "cityblock"
        return np.exp(-self.gamma * cdist(Z, self.landmarks, metric))

    def gradient(self, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        """∇Σ v_jk(z, c_j)."""
        apart = z - self.landmarks
        if self.order == 1:
            apart = 0.5 * np.sign(apart)
        weights = v * self.kernel(z[None])[0]
        return -2 * self.gamma * (weights @ apart)

    def local(self, V: np.ndarray, Z) -> tuple[np.ndarray, np.ndarray]:
        """f(z) and ∇f(z) of functions with the weights V on the landmarks."""
        each = self.kernel(Z)[:, None] * V
        start = each.sum(axis=2)
        slope = np.zeros((*start.shape, Z.shape[1]))
        if self.order == 2:
            slope = (
                2 * self.gamma * (each @ self.landmarks - start[..., None] * Z[:, None])
            )
        return start, slope

    def local_rounding(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far the numbers of `local` may be off, at any z (theory §19.4)."""
        m, d = self.landmarks.shape
        each = (m + 2 * d + 16) * np.finfo(float).eps * np.abs(V).sum(axis=1)
        largest = np.sqrt(np.square(self.landmarks).sum(axis=1).max(initial=0.0))
        return each, each * (4 * self.gamma * largest + 2 * np.sqrt(self.gamma))

    def norm(self, w: np.ndarray) -> float:
        """‖f‖ of the function with weights w on the features; never too small."""
        v = w @ self.matrix
        m, d = self.landmarks.shape
        square = float(v @ self.kernel(self.landmarks) @ v)
        open_part = (2 * m + d + 8) * np.finfo(float).eps * np.abs(v).sum() ** 2
        return float(np.sqrt(max(square, 0.0) + open_part))

    def rounding(self, w: np.ndarray) -> float:
        """How far the computed ⟨w,z(x)⟩ may be off, at any x.

        Distances are computed from products of vectors, whose rounding counts in units
        of the squared size of the landmarks where x is near them, and of the squared
        distance where it is not; there e⁻ᵗ·t is small.
        """
        m, d = self.landmarks.shape
        largest = self.gamma * np.square(self.landmarks).sum(axis=1).max(initial=0.0)
        each = 2 * m + 16 + 18 * (d + 4) * max(float(largest), 1.0)
        return each * self.unit * float((np.abs(w) @ np.abs(self.matrix)).sum())


def _refuse(name: str, why: str, way: str) -> NoReturn:
    raise ValueError(
        f"'{name}' is a Nystroem step, after which nothing can be certified: {why}. "
        f"{way}"
    )


@dataclass(frozen=True)
class Known:
    """What is known of functions f at samples; never in favour of a certificate."""

    norm: np.ndarray  # ‖f‖
    start: np.ndarray  # f(x), without b
    slope: np.ndarray  # ‖∇f(x)‖
    rest: np.ndarray  # ‖q‖

    @classmethod
    def of(cls, curve: Curve, norm, start, slope, off, slope_off) -> Known:
        """From what was computed, and how far it may be off."""
        least = np.maximum(np.abs(start) - off, 0.0) ** 2
        least = least + np.maximum(slope - slope_off, 0.0) ** 2 / (2 * curve.gamma)
        square = np.square(norm) * (1 + 8 * np.finfo(float).eps)
        rest = np.sqrt(np.maximum(square - least, 0.0))
        return cls(norm, start + off, slope + slope_off, rest)


@dataclass(frozen=True)
class CurvedFront:
    """What is before a model on Nyström features, and the noise it was trained with."""

    curve: Curve
    linear: sp.csr_array  # A of the steps before the kernel
    radius: object  # as stated, in units of the noise; None for one per sample
    error_shape: str | None  # of the error bars trained with

    def trained_radius(self, radius, sets: Sets, n: int):
        """Radii on the features, for radii stated in raw units."""
        radii = check_per_sample(radius, n, "radius")
        moved = self.curve.modulus(radii * self.curve.extents(sets, self.linear))
        return float(moved[0]) if np.all(moved == moved[0]) else moved

    def judge(self, values, rows, model, sets: Sets, blur) -> JudgedCurve:
        """Samples, given by their `rows` in front of the kernel, off by `blur`."""
        return JudgedCurve(
            values, model, np.atleast_2d(model.coef_), sets, self, rows, blur
        )

    def blur(self, X, rows) -> np.ndarray:
        """How far rounding may have moved `rows`, which the linear steps made of X.

        Each entry is a sum of what A says, and of something that is added to it, with
        few operations before and after. Rows of float32 are rounded to float32 there.
        """
        linear = sp.csc_array(self.linear)
        used = np.flatnonzero(np.diff(linear.indptr))
        given = dense(_safe_indexing(X, used, axis=1))
        sizes = np.nan_to_num(abs(given)) @ abs(linear[:, used]).T
        rows = rows if hasattr(rows, "dtype") else np.asarray(rows)
        kind = rows.dtype if rows.dtype in (np.float16, np.float32) else np.float64
        unit = 0.5 * float(np.finfo(kind).eps)
        terms = np.diff(self.linear.indptr) + 4
        sizes = terms * unit * (2 * sizes + abs(dense(rows)))
        return np.linalg.norm(sizes, ord=self.curve.order, axis=1)


@dataclass(frozen=True)
class CurvedChunks:
    """Makes chunks of features of a kernel, each row with its radius there."""

    step: Nystroem
    front: CurvedFront
    sets: Shape | None  # None where chunks bring errors
    radius: float | None  # None where chunks bring radii

    @property
    def varies(self) -> bool:
        """Whether rows have radii of their own."""
        return self.sets is None or self.radius is None

    def __call__(self, chunk: Samples) -> Samples:
        """The features of the rows of a chunk."""
        X = np.asarray(host(chunk.X), dtype=np.float64)
        radius = None
        if self.varies:
            radius = host(chunk.radius) if self.radius is None else self.radius
            sets: Sets | None = self.sets
            if sets is None:
                assert self.front.error_shape is not None
                sets = errors_beside(X, chunk.X_err, self.front.error_shape)
            size = self.front.trained_radius(radius, sets, chunk.n)
            radius = np.full(chunk.n, size)
        return replace(chunk, X=features(self.step, X), radius=radius, errors=())


@dataclass(frozen=True)
class JudgedCurve(Judged):
    """Samples that a curved model is asked about; `coef` are weights on features."""

    noise: Sets  # in raw units
    front: CurvedFront
    rows: np.ndarray  # in front of the kernel
    blur: np.ndarray | float  # how far rounding may have moved each of them

    def chance_of_change(self) -> np.ndarray:
        """Refused: behind a kernel the score of a normal error is not normal."""
        raise ValueError(
            "chance_of_change is for linear models. With a kernel the certified radius "
            "is a lower bound and no z-score. Use certified_radius, or train a "
            "linear model."
        )

    def radii(self, radius, X_err):
        """How far samples may be off, in raw units."""
        if radius is None and X_err is not None and self.front.error_shape is None:
            radius = 1.0
        if radius is None:
            radius = self.front.radius
        if radius is None:
            raise ValueError(
                "radius must be given: this model was trained with one radius per "
                "sample and needs those of new samples. Give radius=…"
            )
        return radius

    def _extents(self):
        return self.front.curve.extents(self.noise, self.front.linear)

    def _moved(self, radii) -> np.ndarray:
        """How far rows may move in front of the kernel; both ends are rounded."""
        lengths = radii * self._extents() + 2 * self.blur
        return np.broadcast_to(lengths, len(self.values))

    def half_widths(self, radii) -> np.ndarray:
        """How far a prediction may move within the sets, at most."""
        curve, (w,) = self.front.curve, self.coef
        V = (w @ curve.matrix)[None]
        (off,), (slope_off,) = curve.local_rounding(V)
        norm, moved = curve.norm(w), self._moved(radii)
        widths = np.zeros(len(self.values))
        for rows in self._blocks(V):
            start, slope = curve.local(V, self.rows[rows])
            start, slope = start[:, 0], np.linalg.norm(slope[:, 0], axis=1)
            for sign in (1, -1):
                known = Known.of(curve, norm, sign * start, slope, off, slope_off)
                widths[rows] = np.maximum(widths[rows], curve.fall(moved[rows], known))
        return widths + 2 * curve.rounding(w)

    def _blocks(self, V: np.ndarray) -> list[slice]:
        """Blocks of rows whose gradients fit into memory together."""
        size = max(
            CACHED_ENTRIES // (len(V) * sum(self.front.curve.landmarks.shape)), 1
        )
        return [slice(k, k + size) for k in range(0, len(self.rows), size)]

    def _leads(self, classes: np.ndarray) -> tuple[np.ndarray, Known]:
        """f_p − f_k for p = `classes` and all k ≠ p, and what is known of it.

        What rounding leaves open of predictions is taken off; `inf` where k = p.
        """
        values, coef = certify.every_class(self.values, self.coef)
        n, curve = len(coef), self.front.curve
        norms, open_parts = np.zeros((n, n)), np.zeros((n, n))
        for p in range(n):
            for k in range(p):
                w = coef[p] - coef[k]
                norms[p, k] = norms[k, p] = curve.norm(w)
                each = curve.rounding(coef[p]) + curve.rounding(coef[k])
                open_parts[p, k] = open_parts[k, p] = 2 * each
        own = np.take_along_axis(values, classes[:, None], 1)
        eps = np.finfo(np.float64).eps
        lead = own - values - 2 * eps * (np.abs(own) + np.abs(values))
        lead -= open_parts[classes]
        np.put_along_axis(lead, classes[:, None], np.inf, 1)
        V = coef @ curve.matrix
        starts, slopes = np.zeros_like(values), np.zeros_like(values)
        for rows in self._blocks(V):
            start, slope = curve.local(V, self.rows[rows])
            first = np.arange(len(start)), classes[rows]
            starts[rows] = start[first][:, None] - start
            slopes[rows] = np.linalg.norm(slope[first][:, None] - slope, axis=2)
        off, slope_off = (
            each[classes][:, None] + each for each in curve.local_rounding(V)
        )
        return lead, Known.of(curve, norms[classes], starts, slopes, off, slope_off)

    def certified_radius(self) -> np.ndarray:
        """A size of moves below which no prediction changes; see the head.

        By bisection of ln(γρᵒ), o = 2 or 1, which decides within 1e-13.
        """
        winner = certify.every_class(self.values, self.coef)[0].argmax(axis=1)
        curve, (lead, known) = self.front.curve, self._leads(winner)

        def length(power):
            return (np.exp(power) / curve.gamma) ** (1 / curve.order)

        def kept(power):
            return np.all(lead > curve.fall(length(power)[:, None], known), axis=1)

        low, high = (np.full(len(lead), end) for end in _POWERS)
        none, always = ~kept(low), kept(high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            holds = kept(middle)
            low, high = np.where(holds, middle, low), np.where(holds, high, middle)
        lengths = np.where(none, 0.0, np.where(always, np.inf, length(low)))
        lengths = np.maximum(lengths - 2 * self.blur, 0.0)
        extents = np.broadcast_to(self._extents(), lengths.shape)
        still = np.where(lengths > 0, np.inf, 0.0)  # noise that moves nothing
        return np.divide(lengths, extents, out=still, where=extents > 0)

    def robust_correct(self, labels: np.ndarray, radii) -> np.ndarray:
        """Whether every move within the radii is proven to leave the label right."""
        radii = check_per_sample(radii, len(labels), "radius")
        lead, known = self._leads(labels)
        moved = self._moved(radii) * (1 + 1e-12)
        return np.all(lead > self.front.curve.fall(moved[:, None], known), axis=1)

    def first_moves(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The class that is nearest, and what small noise does to its lead by feature.

        That is ∂_j(f_k − f_p)(x)·δ_j, for the move δ of size 1 with the largest sum.
        """
        rival, weights = self._rivals(labels)
        curve, linear = self.front.curve, self.front.linear
        pull = np.empty((len(labels), linear.shape[1]))
        for i, v in enumerate(weights):
            slope = linear.T @ curve.gradient(v, self.rows[i])
            pull[i] = slope * certify.worst_moves(self.noise, np.array([i]), slope)[0]
        return rival, pull

    def worst_case(self, labels: np.ndarray, radii) -> np.ndarray:
        """A move of each sample that favours some wrong class, found by search.

        Frank–Wolfe steps along the gradient stay in the set; the best point of each
        step is kept. A move that hurts more may exist: `certified_radius` bounds all.
        """
        radii = check_per_sample(radii, len(labels), "radius")
        _, weights = self._rivals(labels)
        moves = [
            self._search(i, v, radius)
            for i, (v, radius) in enumerate(zip(weights, radii, strict=True))
        ]
        return np.array(moves).reshape(len(labels), self.front.linear.shape[1])

    def _rivals(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The class that is nearest to each sample, and the weights of its lead."""
        _, coef = certify.every_class(self.values, self.coef)
        lead, known = self._leads(labels)
        lead = np.divide(lead, known.norm, where=known.norm > 0, out=lead)
        rival = lead.argmin(axis=1)
        return rival, (coef[rival] - coef[labels]) @ self.front.curve.matrix

    def _search(self, i: int, v: np.ndarray, radius: float) -> np.ndarray:
        """The best move found for one sample, of weights v on the landmarks."""
        curve, linear, z = self.front.curve, self.front.linear, self.rows[i]
        best = move = np.zeros(linear.shape[1])
        highest = -np.inf
        for step in range(_STEPS):
            slope = linear.T @ curve.gradient(v, z + linear @ move)
            far = radius * certify.worst_moves(self.noise, np.array([i]), slope)[0]
            shares = np.array([2 / (step + 2), 1.0, 0.5, 0.25])[:, None]
            tried = move + shares * (far - move)
            worth = curve.kernel(z + tried @ linear.T) @ v
            move = tried[worth.argmax()]
            if worth.max() > highest:
                best, highest = move, float(worth.max())
        return best
