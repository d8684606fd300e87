"""What is measured: a task on a data set, and the solvers that take part.

Data is stored once, as arrays, in an ignored folder: the processes that are timed then
read it without any of the packages it came from.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

__all__ = [
    "CACHE",
    "Setting",
    "cases_of",
    "plugin",
    "plugins",
    "read",
    "solver_name",
    "store",
]

CACHE = Path(__file__).resolve().parents[1] / ".cache"


def plugins(kind: str) -> list[str]:
    """The files of a kind: "datasets", "solvers" or "tasks"."""
    package = importlib.import_module(f"benchmarks.{kind}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def plugin(kind: str, name: str) -> ModuleType:
    """One of them."""
    return importlib.import_module(f"benchmarks.{kind}.{name}")


def solver_name(solver: str) -> str:
    """A solver as the tables show it; by its file where that cannot be imported."""
    try:
        return plugin("solvers", solver).NAME
    except Exception:  # its cells say what is wrong with it
        return solver


@dataclass(frozen=True)
class Setting:
    """A task on a data set, of a given size where that can be chosen.

    `factor` multiplies the data set's usual C.
    """

    task: str
    data: str
    sizes: tuple[tuple[str, int], ...] = ()
    factor: float = 1.0

    @property
    def name(self) -> str:
        """The data set with what is not as usual, such as "tall n=1000"."""
        unusual = [*self.sizes]
        if self.factor != 1:
            unusual.append(("C", f"{self.C:g}"))
        return " ".join([self.data, *(f"{key}={value}" for key, value in unusual)])

    @property
    def C(self) -> float:
        """Weight of the losses."""
        return self.factor * plugin("datasets", self.data).C

    @property
    def radius(self) -> float:
        """Radius of the noise; 0 where the task has none."""
        noisy = plugin("tasks", self.task).NOISE
        return plugin("datasets", self.data).RADIUS if noisy else 0.0

    @property
    def row(self) -> dict:
        """What every line of the results says of the problem."""
        names = {"task": self.task, "data": self.name}
        return names | {"C": self.C, "radius": self.radius}

    @property
    def key(self) -> str:
        """Name of what is stored for this problem; another problem has another."""
        words = [
            self.task,
            repr(self.C),
            repr(self.radius),
            _source("tasks", self.task),
        ]
        return f"{self.data}-{_digest([*words, self.data_key])}"

    @property
    def data_key(self) -> str:
        """Name of the stored arrays."""
        words = [repr(self.sizes), _source("datasets", self.data)]
        return f"{self.data}-{_digest(words)}"


def _source(kind: str, name: str) -> str:
    return Path(plugin(kind, name).__file__).read_text()


def _digest(words: list[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:12]


def store(setting: Setting) -> Path:
    """Load the data set, if it was not stored before; raises `datasets.Missing`."""
    target = CACHE / "data" / f"{setting.data_key}.npz"
    if not target.exists():
        X, y = plugin("datasets", setting.data).load(**dict(setting.sizes))
        parts = {"X": X}
        if hasattr(X, "indptr"):
            parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
            parts["shape"] = np.array(X.shape)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial.npz")
        np.savez(partial, y=y, **parts)
        partial.rename(target)
    return target


def read(source: Path):
    """The stored (X, y)."""
    with np.load(source) as parts:
        if "X" in parts:
            return parts["X"], parts["y"]
        import scipy.sparse as sp

        triple = parts["data"], parts["indices"], parts["indptr"]
        return sp.csr_array(triple, shape=tuple(parts["shape"])), parts["y"]


def cases_of(setting: Setting, X, y) -> list:
    """The problems to be solved."""
    return plugin("tasks", setting.task).cases(X, y, setting.C, setting.radius)
