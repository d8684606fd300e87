"""
Samples that cannot matter
==========================

Most samples of a support vector machine lie outside their margin and do not influence
the solution. *Safe screening* proves that for single samples before the solution is
known. It uses a region that contains the solution. The smaller the region, the earlier
the proof. See :doc:`/theory/regions` for proofs that the regions contain it.
"""

# %%
# Spambase, preprocessed as in the screening paper and without an intercept. If `solve`
# has a callback, each entry of the trace is a certificate with the numbers of samples
# that it decides: "removed" samples have no influence, "saturated" ones have the full
# weight C.

import matplotlib.pyplot as plt
import numpy as np

from wideberth import screen, solve
from wideberth.datasets import load_spambase, paper_preprocess

X, y = load_spambase()
X = paper_preprocess("spambase", X)
problem = {"radius": 0.05, "fit_intercept": False}


def train(C, region="ellipsoid"):
    """Solve, and keep the numbers of decided samples at every certificate."""
    return solve(
        X,
        y,
        C=C,
        **problem,
        solver="coordinate",
        screening=region,
        tol=1e-8,
        random_state=0,
        callback=lambda entry: None,
    )


def draw(ax, solution, label, style):
    """Draw the percentage of decided samples against the relative gap."""
    gaps = [entry["gap"] / entry["primal"] for entry in solution.trace]
    decided = [entry["removed"] + entry["saturated"] for entry in solution.trace]
    color, marker = style
    ax.plot(gaps, 100 * np.array(decided) / len(y), marker, color=color, label=label)


# %%
# The percentage of samples decided against the relative duality gap, from left to right
# as the solver goes on. Each marker is a certificate. Left: three values of C, with the
# ellipsoid. Right: three regions at C = 1, from the same points.

fig, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 4.2), sharex=True, sharey=True, layout="constrained"
)
solutions = {C: train(C) for C in (0.1, 1, 10)}
# Colours of Okabe and Ito; markers and dashes differ, too.
styles = [("#0072B2", "o-"), ("#D55E00", "s--"), ("#009E73", "^:")]
for (C, solution), style in zip(solutions.items(), styles, strict=True):
    draw(left, solution, f"C = {C:g}", style)
regions = {"ellipsoid": "ellipsoid", "midpoint": "midpoint ball", "gap": "GAP ball"}
for (region, name), style in zip(regions.items(), styles, strict=True):
    draw(right, train(1, region), name, style)
left.set(xscale="log", ylim=(-3, 103), xlabel="relative duality gap")
left.set(ylabel="samples decided, %", title="ellipsoid, three values of C")
left.invert_xaxis()
right.set(xlabel="relative duality gap", title="C = 1, three regions")
for ax in (left, right):
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend(loc="upper left")

# %%
# The GAP ball is that of the screening paper. The midpoint ball is smaller by a factor
# of at least √2. The ellipsoid uses the noise: the larger the radius, the smaller the
# ellipsoid. All three regions contain the solution; the smaller ones decide more
# samples earlier.
#
# `screen` does the same for any primal and any dual point. At the solution it decides
# at least as many samples as the last entry of the trace, because it tries every test.

last = solutions[1].trace[-1]
found = screen(X, y, solutions[1].w, solutions[1].alpha, C=1, **problem)
print("last entry:", [last[name] for name in ("free", "saturated", "removed")])
print("screen:    ", list(found.counts))

# %%
# On data of this size screening does not save time: the solver takes some
# milliseconds with and without it. It saves time if passes over the data are expensive.
# Its result is also useful by itself: without the samples in `Solution.removed` the
# model would be the same.
