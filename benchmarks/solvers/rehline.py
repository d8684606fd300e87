"""ReHLine's ridge ERM with the hinge loss: dual coordinate descent with shrinking."""

import warnings

from benchmarks.solvers import no_intercept, no_noise, over

NAME = "ReHLine"
LADDER = tuple(10.0**-k for k in range(9))
#: Far beyond the default of 1000, so that the tolerance ends a run.
_EPOCHS = 10_000_000


def long_on(X):
    return over(X, 40_000_000)


def refuses(cases):
    return no_noise(cases) or no_intercept(cases)


def solve(case, tol):
    from rehline import plqERM_Ridge

    model = plqERM_Ridge(loss={"name": "svm"}, C=case.C, tol=tol, max_iter=_EPOCHS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how far it is off is measured
        return model.fit(case.X, case.y).coef_
