"""Fit the paper's 32 configurations with the reference solver and tabulate them."""

from __future__ import annotations

import time

import numpy as np

from wideberth.paper import configurations, load
from wideberth.problem import Problem
from wideberth.solvers.conic import solve_conic

__all__ = ["main"]


def main() -> int:
    """Run the grid with a progress display, then print one line per fit."""
    from rich.console import Console
    from rich.progress import track

    console = Console()
    data: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    lines = []
    for name, C, radius in track(list(configurations()), "Fitting", console=console):
        X, y = data.setdefault(name, load(name))
        problem = Problem.from_data(X, y, C=C, radius=radius)
        start = time.perf_counter()
        result = solve_conic(problem)
        seconds = time.perf_counter() - start
        accuracy = np.mean(np.where(X @ result.w > 0, 1, -1) == y)
        certificate = result.certificate
        lines.append(
            f"{name:>14} {C:6g} {radius:7g} {certificate.primal:14.6f} "
            f"{max(certificate.relative_gap, 0.0):10.1e} {accuracy:9.4f} {seconds:8.3f}"
        )
    header = ("data", "C", "radius", "objective", "rel. gap", "accuracy", "seconds")
    print("{:>14} {:>6} {:>7} {:>14} {:>10} {:>9} {:>8}".format(*header))
    print("\n".join(lines))
    return 0
