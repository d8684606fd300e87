"""libsvm through scikit-learn's `SVC(kernel="linear")`."""

from benchmarks.solvers import no_noise, over

NAME = "libsvm"
LADDER = (1.0, 0.3, 0.1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6)


def long_on(X):
    return over(X, 1_000_000)


def refuses(cases):
    if not all(case.intercept for case in cases):
        return "always has a free intercept: see the task with one"
    return no_noise(cases)


def solve(case, tol):
    from sklearn.svm import SVC

    model = SVC(C=case.C, kernel="linear", tol=tol, cache_size=1000)
    model.fit(case.X, case.y)
    w = model.coef_
    w = w.toarray() if hasattr(w, "toarray") else w
    return w[0], float(model.intercept_[0])
