"""What is solved: the products over the rows, primal and dual, certificates.

Names are imported when they are asked for: `problem` builds on `noise`, which builds on
the rows of this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wideberth.problem.certificate import Certificate, DualPoint, Pair, PrimalPoint
    from wideberth.problem.problem import Folded, Problem

__all__ = ["Certificate", "DualPoint", "Folded", "Pair", "PrimalPoint", "Problem"]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = "problem" if name in ("Folded", "Problem") else "certificate"
    return getattr(import_module(f"{__name__}.{place}"), name)
