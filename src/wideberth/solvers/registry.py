"""The solvers there are, by name; others may be added while a program runs.

An added solver serves `solve`, `path`, the estimators and their cross-validation like
one of the package's own. It belongs to the process that added it: workers of a parallel
search have to add it too.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["added_solver", "register_solver", "solver_names"]

_BUILT_IN = ("newton", "coordinate", "conic")
_ADDED: dict[str, Callable] = {}


def register_solver(name: str, run: Callable) -> None:
    """Make a solver known under a name.

    Parameters
    ----------
    name : str
        What users will give as `solver`; an added solver of this name is replaced.
    run : callable
        Called as `run(problem, control, region=…)` with a `Problem`, a `Control` and
        the name of a screening region or None; returns an `Outcome`.
    """
    if not isinstance(name, str) or name in ("", "auto", *_BUILT_IN):
        raise ValueError(
            f"name={name!r} cannot name a solver to add; choose text other than "
            f"{('auto', *_BUILT_IN)}."
        )
    if not callable(run):
        raise ValueError(
            f"run={run!r} is not callable; give the function that solves, called as "
            "run(problem, control, region=…)."
        )
    _ADDED[name] = run


def solver_names() -> tuple[str, ...]:
    """All names that `solver` may be, "auto" first."""
    return "auto", *_BUILT_IN, *_ADDED


def added_solver(name: str) -> Callable | None:
    """The function added under this name, or None."""
    return _ADDED.get(name)
