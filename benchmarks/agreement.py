"""How far decision values are from those of scikit-learn's linear SVMs at radius 0.

`SVC(kernel="linear")` has a free intercept, `LinearSVC(loss="hinge")` a penalised one.
All three are run to convergence; the difference is relative to the largest value.

    python benchmarks/agreement.py [breast_cancer digits a9a]
"""

from __future__ import annotations

import bz2
import sys
import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_file
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC

from data import SHARED
from wideberth import RobustLinearSVC

C = {"breast_cancer": 1.0, "digits": 1.0, "a9a": 0.05}


def load(name: str):
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return scale(X), y
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X / 16, y
    source = SHARED / "a9a.bz2"
    if not source.exists():
        return None
    with bz2.open(source) as stream:
        X, y = load_svmlight_file(stream, n_features=123)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def compare(name: str, X, y) -> None:
    svc = SVC(kernel="linear", C=C[name], tol=1e-6, cache_size=1000)
    peers = {
        'SVC(kernel="linear")': (
            svc if name != "digits" else OneVsRestClassifier(svc),
            0,
        ),
        'LinearSVC(loss="hinge")': (
            LinearSVC(
                loss="hinge", C=C[name], tol=1e-7, max_iter=10**6, random_state=0
            ),
            1,
        ),
    }
    for peer, (model, penalty) in peers.items():
        mine = RobustLinearSVC(C=C[name], intercept_penalty=penalty, tol=1e-10)
        seconds = []
        for fitted in (mine, model):
            start = time.perf_counter()
            fitted.fit(X, y)
            seconds.append(time.perf_counter() - start)
        values = mine.decision_function(X), model.decision_function(X)
        apart = np.abs(values[0] - values[1]).max() / np.abs(values[1]).max()
        print(
            f"{name:14s} C={C[name]:<5g} {peer:24s} {apart:.1e}   "
            f"{seconds[0]:.2f} s, peer {seconds[1]:.2f} s",
            flush=True,
        )


def main() -> None:
    for name in sys.argv[1:] or C:
        data = load(name)
        if data is None:
            print(f"{name} skipped: not beside the repository")
        else:
            compare(name, *data)


if __name__ == "__main__":
    main()
