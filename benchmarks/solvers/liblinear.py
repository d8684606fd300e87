"""LIBLINEAR's dual coordinate descent through scikit-learn."""

import numpy as np

from benchmarks.solvers import no_intercept, no_noise

NAME = "LIBLINEAR"
LADDER = tuple(10.0 ** -np.arange(0.0, 7.5, 0.5))
#: Never the reason to stop; the clock is.
_EPOCHS = 10_000_000


def refuses(cases):
    return no_noise(cases) or no_intercept(cases)


def solve(case, tol):
    from sklearn.svm import LinearSVC

    model = LinearSVC(
        C=case.C,
        loss="hinge",
        fit_intercept=False,
        tol=tol,
        max_iter=_EPOCHS,
        random_state=0,
    )
    return model.fit(case.X, case.y).coef_[0]
