"""Snap ML's SupportVectorMachine: stochastic coordinate descent on the dual."""

import numpy as np

from benchmarks.solvers import no_intercept, no_noise

NAME = "Snap ML"
LADDER = tuple(10.0**-k for k in range(1, 10))
#: Far beyond the default of 1000, so that the tolerance ends a run.
_EPOCHS = 1_000_000


def refuses(cases):
    return no_noise(cases) or no_intercept(cases)


def solve(case, tol):
    from snapml import SupportVectorMachine

    X = case.X
    if hasattr(X, "indptr"):  # it knows the older class of sparse matrices alone
        import scipy.sparse as sp

        X = sp.csr_matrix(X)
    model = SupportVectorMachine(
        regularizer=1 / case.C, tol=tol, max_iter=_EPOCHS, random_state=0
    )
    return np.ravel(model.fit(X, case.y).coef_)
