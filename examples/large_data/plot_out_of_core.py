"""
A file that is larger than the memory allowed
=============================================

A file has three hundred thousand rows, and `memory` limits what the process may hold.
`solve` first trains on a sample of the rows, then on the rows near the margin. After a
few passes over the file the gap on *all* rows is proven to be small.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from wideberth import solve

rng = np.random.default_rng(0)
X = rng.normal(size=(300_000, 20)).astype(np.float32)
y = np.where(X @ rng.normal(size=20) + 2 * rng.normal(size=len(X)) > 0, 1, -1)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
with tempfile.TemporaryDirectory() as folder:
    for n in [30_000, 300_000]:
        file = Path(folder) / f"{n}.npy"
        np.save(file, X[:n])
        steps: list[dict] = []
        found = solve(
            file,
            y[:n],
            C=0.01,
            radius=0.05,
            memory="2GB",
            random_state=0,
            callback=steps.append,
        )
        gaps = [1 - step["dual"] / step["primal"] for step in steps]
        reads = [step["passes"] for step in steps]
        label = f"{n:,} rows: {found.passes:.0f} reads"
        ax.plot(reads, np.maximum(gaps, 1e-9), "o-", label=label)
ax.axhline(1e-6, color="0.6", ls=":", label="tolerance asked for")
ax.set(yscale="log", xlabel="reads of the file", ylabel="proven relative gap")
ax.legend()

# %%
# Ten times as many rows take about as many passes. A folder of Parquet files and a Dask
# cluster work in the same way: :doc:`/scaling`.
