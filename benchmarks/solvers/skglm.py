"""skglm's LinearSVC: coordinate descent on the dual with Anderson acceleration."""

from benchmarks.solvers import no_intercept, no_noise, over

NAME = "skglm"
LADDER = (0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
#: Far beyond the default of 50, where it would stop without a word.
_ROUNDS = 10_000


def long_on(X):
    return over(X, 10_000_000)


def refuses(cases):
    return no_noise(cases) or no_intercept(cases)


def solve(case, tol):
    from skglm import LinearSVC

    model = LinearSVC(C=case.C, tol=tol, max_iter=_ROUNDS, fit_intercept=False)
    return model.fit(case.X, case.y).coef_.ravel()
