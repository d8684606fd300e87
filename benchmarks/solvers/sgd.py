"""scikit-learn's `SGDClassifier`: its accuracy is its number of epochs."""

from benchmarks.solvers import no_noise

NAME = "SGDClassifier"
LADDER = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)


def refuses(cases):
    return no_noise(cases)


def solve(case, tol):
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        loss="hinge",
        alpha=1.0 / (case.C * len(case.y)),
        fit_intercept=case.intercept,
        max_iter=tol,
        tol=None,
        random_state=0,
    )
    model.fit(case.X, case.y)
    w = model.coef_[0]
    return (w, float(model.intercept_[0])) if case.intercept else w
