"""The Newton solver on a GPU: `python -m benchmarks.gpu` where PyTorch sees one.

Three sizes of data, generated on the device, solved by `wideberth.solve` as it is: the
tensors go in, the model comes out. Times are whole calls, medians of repeats after one
call on small data; bytes are what one read of the rows moves. Writes the table to
benchmarks/results/gpu.md as well.
"""

from __future__ import annotations

import argparse
import platform
import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import torch

from benchmarks.bench.report import Report
from wideberth import solve

FEATURES = 100
CASES = (
    (10_000_000, torch.float64, 1e-6),
    (50_000_000, torch.float32, 1e-6),
    (300_000_000, torch.float32, 1e-4),
)


def generate(n: int, dtype: torch.dtype, block: int = 2_000_000):
    """Gaussian features, labels from a noisy hyperplane, block by block."""
    random = torch.Generator(device="cuda").manual_seed(0)
    options = {"generator": random, "device": "cuda"}
    X = torch.empty((n, FEATURES), dtype=dtype, device="cuda")
    y = torch.empty(n, dtype=torch.float32, device="cuda")
    normal = torch.randn(FEATURES, **options) / FEATURES**0.5
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        part = torch.randn((rows.stop - start, FEATURES), **options)
        noise = 0.5 * torch.randn(len(part), **options)
        X[rows] = part.to(dtype)
        y[rows] = torch.where(part @ normal + noise > 0, 1.0, -1.0)
    return X, y


def timed(X, y, tol: float) -> tuple[float, object]:
    torch.cuda.synchronize()
    started = time.perf_counter()
    found = solve(
        X, y, C=0.01, radius=0.05, tol=tol, random_state=0, fit_intercept=False
    )
    torch.cuda.synchronize()
    return time.perf_counter() - started, found


def measure(report: Report, n: int, dtype, tol: float, repeats: int) -> None:
    size = n * FEATURES * torch.finfo(dtype).bits // 8
    free = torch.cuda.mem_get_info()[0]
    name = f"{n} × {FEATURES} {str(dtype).removeprefix('torch.')}"
    if free < 1.1 * size:
        report.say(f"| {name} | needs {size / 1e9:.0f} GB, free are {free / 1e9:.0f} |")
        return
    X, y = generate(n, dtype)
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(repeats):
        seconds, found = timed(X, y, tol)
        times.append(seconds)
        text = (
            f"{found.passes:.0f} | {found.relative_gap:.1e} | "
            f"{found.certificate.rounding / found.primal:.0e} | {found.n_iter}"
        )
        del found
    peak = torch.cuda.max_memory_allocated()
    report.say(
        f"| {name} | {size / 1e9:.0f} | {tol:.0e} | {np.median(times):.3f} "
        f"({min(times):.3f}–{max(times):.3f}) | {text} | {peak / 1e9:.0f} |"
    )


def equality(report: Report) -> None:
    """The same data on the device and on the host; CuPy too where it is there."""
    X, y = generate(200_000, torch.float64)
    expected = solve(
        X.cpu().numpy(),
        y.cpu().numpy(),
        C=0.01,
        radius=0.05,
        tol=1e-9,
        fit_intercept=False,
    )
    found = {"PyTorch": solve(X, y, C=0.01, radius=0.05, tol=1e-9, fit_intercept=False)}
    try:
        import cupy
    except ImportError:
        report.say("CuPy is not installed.")
    else:
        arrays = cupy.asarray(X), cupy.asarray(y)
        found["CuPy"] = solve(
            *arrays, C=0.01, radius=0.05, tol=1e-9, fit_intercept=False
        )
    for library, solution in found.items():
        off = solution.primal / expected.primal - 1
        report.say(
            f"200000 × {FEATURES} on {library} against NumPy: objectives differ by "
            f"{off:+.0e}, relative gap {solution.relative_gap:.0e}."
        )
    report.say()


def versions() -> str:
    names = ["numpy", "scipy", "torch", "cupy-cuda13x", "array-api-compat"]
    known = []
    for name in names:
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"Python {platform.python_version()}, " + ", ".join(known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    report = Report()
    report.say("# One GPU")
    report.say()
    report.say(
        f"`python -m benchmarks.gpu`; {torch.cuda.get_device_name()}; {versions()}"
    )
    report.say()
    equality(report)
    report.say(
        "C = 0.01, radius 0.05. Certificates come from float64 arithmetic alone."
    )
    report.say()
    report.say(
        "| data | GB | tol | seconds, median (range) | reads | relative gap "
        "| its rounding | steps | most memory, GB |"
    )
    report.say("|---|---|---|---|---|---|---|---|---|")
    for n, dtype, tol in CASES:
        measure(report, n, dtype, tol, given.repeats)
        torch.cuda.empty_cache()
    report.save("gpu.md")


if __name__ == "__main__":
    main()
