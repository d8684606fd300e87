"""The Wasserstein SVM of `dro`, through CVXPY and Clarabel at its defaults.

Its problem is min mean [1 − ⟨θ,z_i⟩]_+ + ε‖θ‖: the noise outside the hinge, and no
½‖θ‖². For one radius ρ the two have the same solutions all the same: since
1 − ⟨w,z⟩ + ρ‖w‖ = (1 + ρ‖w‖)(1 − ⟨θ,z⟩) with θ = w/(1 + ρ‖w‖), the conditions of
optimality at w* are those of ε = (‖w*‖ + s*)/(nC), s* = Σα_iρ_i, at θ*. That ε must be
known beforehand; here the reference tells it, and w = θ/(1 − ρ‖θ‖) leads back.
"""

import numpy as np

from benchmarks.solvers import clarabel, no_intercept

NAME = "dro, Wasserstein"
#: Its `fit` takes no tolerance.
LADDER = ("default",)
long_on = clarabel.long_on


def refuses(cases):
    return no_intercept(cases)


def solve(case, tol):
    from dro.linear_model.wasserstein_dro import WassersteinDRO

    X = case.X.toarray() if hasattr(case.X, "toarray") else case.X
    n, d = X.shape
    known = case.optimum
    budget = (known["norm"] + known["pull"]) / (n * case.C)
    model = WassersteinDRO(input_dim=d, model_type="svm", fit_intercept=False)
    model.update({"eps": budget, "p": 2})
    model.fit(X, case.y)
    size = float(np.linalg.norm(model.theta))
    return model.theta / (1 - case.radius * size)
