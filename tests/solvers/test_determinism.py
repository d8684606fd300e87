"""Same inputs, seed and threads: the same bits. Other threads: the same within tol."""

import json

import dask.array as da
import numpy as np
import pytest

from trouble import child
from trouble.crowds import FITS_SCRIPT
from wideberth import RobustLinearSVC, RobustLinearSVCCV, solve

#: More fits, on data in files and on Dask, whole models, and a digest of each.
_DIGESTS = (
    FITS_SCRIPT
    + """
import json, pickle, tempfile
from pathlib import Path
import dask.array as da, pyarrow as pa, pyarrow.parquet as pq
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler
from wideberth import make_robust_pipeline

folder = Path(tempfile.mkdtemp(dir=sys.argv[1]))
np.save(folder / "X.npy", X)
dump_svmlight_file(X, y, str(folder / "data.svm"), zero_based=False)
pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(12)} | {"y": y}), folder / "t.parquet")
words = np.array(["ash", "birch", "cedar", "douglas fir"])[several]
FITS |= {
    "gap": lambda: solve(X, y, screening="gap", fit_intercept=True, **same).alpha,
    "rounds": lambda: solve(X, y, radius=0.1, solver="newton", random_state=0).alpha,
    "covariance": lambda: solve(X, y, noise=np.cov(X.T), **same).w,
    "words": lambda: RobustLinearSVC(**steered).fit(X, words).dual_coef_,
    "two jobs": lambda: RobustLinearSVC(**steered, n_jobs=2).fit(X, words).dual_coef_,
    "search, two jobs": lambda: RobustLinearSVCCV(Cs=4, cv=3, solver_options={"random_state": 0}, n_jobs=2).fit(X, y).coef_,
    "pipeline": lambda: make_robust_pipeline(StandardScaler(), RobustLinearSVC(**steered)).fit(X, words)[-1].coef_,
    "npy": lambda: solve(folder / "X.npy", y, random_state=0).w,
    "LIBSVM": lambda: solve(folder / "data.svm", random_state=0).w,
    "Parquet": lambda: solve(folder / "t.parquet", "y", random_state=0).w,
    "Dask": lambda: solve(da.from_array(X, chunks=(200, 12)), da.from_array(y, chunks=200), random_state=0).w,
}
if __name__ == "__main__":
    alone = os.environ["PYTHONHASHSEED"] != "0"  # starting processes takes seconds
    first = {name: answer(name) for name in FITS if not (alone and "two jobs" in name)}
    if not alone:
        again = {name: answer(name) for name in FITS}
        assert first == again, [name for name in FITS if first[name] != again[name]]
    print(json.dumps(first))
"""
)


def digests(tmp_path, **env):
    return json.loads(child(_DIGESTS, tmp_path, env=env))


def test_models_are_the_same_to_the_last_bit_in_every_process(tmp_path):
    """Twice within a process, in another one, and whatever hashes are salted with."""
    one = digests(tmp_path, PYTHONHASHSEED="0")
    other = digests(tmp_path, PYTHONHASHSEED="12345")
    assert len(one) == len(other) + 2 == 19
    assert one.items() >= other.items()
    # One job or two, the same models.
    assert one["words"] == one["two jobs"]
    assert one["search"] == one["search, two jobs"]


_OBJECTIVES = (
    FITS_SCRIPT
    + """
import json
tall = np.tile(X, (30, 1)) + 0.1 * rng.normal(size=(27_000, 12))
labels = np.tile(y, 30)
found = {
    "newton": solve(tall, labels, tol=1e-6, **same),
    "free intercept": solve(tall, labels, tol=1e-6, fit_intercept=True, **same),
    "coordinate": solve(rng.normal(size=(400, 900)), y[:400], solver="coordinate", tol=1e-6, **same),
    "chunks": solve([(tall[:9000], labels[:9000]), (tall[9000:], labels[9000:])], tol=1e-6, random_state=0),
}
print(json.dumps({name: [s.primal, s.gap, s.w.tolist()] for name, s in found.items()}))
"""
)


def test_other_numbers_of_threads_agree_within_the_tolerance():
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    one, two = (
        json.loads(child(_OBJECTIVES, env=dict.fromkeys(names, str(threads))))
        for threads in (1, 2)
    )
    for name, (primal, gap, w) in one.items():
        other, other_gap, v = two[name]
        assert max(gap, other_gap) <= 1e-6 * primal
        # Both lie within their gap of the same optimum ...
        assert abs(primal - other) <= max(gap, other_gap) + 1e-12 * primal
        # ... and, by strong convexity, √(2 gap) of the same w.
        reach = np.sqrt(2 * gap) + np.sqrt(2 * other_gap)
        assert np.linalg.norm(np.subtract(w, v)) <= reach + 1e-9


#: Rows, weights and w that start at an odd address, as parts of messages do.
_ASTRAY = """
import numpy as np, scipy.sparse as sp
from wideberth import RobustLinearSVC, screen, solve

def astray(values):
    raw = np.empty(values.nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 64 + 29
    placed = raw[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    placed[...] = values
    assert not placed.flags.aligned
    return placed

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 6))
y = np.where(X[:, 0] + rng.normal(size=3000) > 0, 1.0, -1.0)
odd, labels, weight = astray(X), astray(y), astray(np.ones(3000))
thin = sp.csr_array(X)
thin.data = astray(thin.data)
options = {"C": 0.1, "radius": 0.1, "random_state": 0}
expected = solve(X, y, **options)
parts = [(odd[i : i + 700], labels[i : i + 700]) for i in range(0, 3000, 700)]
for given in ((odd, labels), (thin, labels), (parts,)):
    assert abs(solve(*given, **options).primal / expected.primal - 1) < 2e-6
solve(odd, labels, sample_weight=weight, solver="coordinate", **options)
RobustLinearSVC(C=0.1, radius=0.1).fit(odd, labels).predict(odd)
screen(odd, labels, astray(expected.w), astray(expected.alpha), C=0.1, radius=0.1)
print("done")
"""


@pytest.mark.parametrize("kernels", ["Prescott", "Haswell"])
def test_numbers_at_odd_addresses_are_read(kernels):
    """Old kernels of OpenBLAS end the process on them; others ignore the name."""
    env = {"OPENBLAS_CORETYPE": kernels, "OMP_NUM_THREADS": "1"}
    assert child(_ASTRAY, env=env).strip() == "done"


def test_partitions_are_added_in_order_however_they_come():
    """Dask's threads end when they end; sums of floats depend on their order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 10))
    y = np.where(X[:, 0] + rng.normal(size=8000) > 0, 1, -1)
    parts = da.from_array(X, chunks=(500, 10)), da.from_array(y, chunks=500)
    answers = {
        solve(*parts, random_state=0, fit_intercept=False).w.tobytes() for _ in range(5)
    }
    assert len(answers) == 1


def test_the_global_generator_of_numpy_is_neither_used_nor_touched():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-0.5, 0.5])
    answers = set()
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].tobytes()  # noqa: NPY002
        model = RobustLinearSVC(radius=0.01).fit(X, y)
        search = RobustLinearSVCCV(Cs=3, cv=3).fit(X, y)
        answers.add(model.coef_.tobytes() + search.coef_.tobytes())
        assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002
    assert len(answers) == 1
