"""`wideberth reproduce`: the experiments of the screening paper."""

from __future__ import annotations

from importlib.util import find_spec

from wideberth.cli.errors import UserError
from wideberth.cli.options import ReproduceOptions


def run(options: ReproduceOptions) -> int:
    """Run them, where the package that holds them is installed."""
    if find_spec("wideberth_paper") is None:
        raise UserError(
            "the experiments of the screening paper are a package of their own: in a "
            "checkout of wideberth, pip install ./paper."
        )
    from wideberth_paper.reproduce import main

    return main(
        options.out, quick=options.quick, repeats=options.repeats, jobs=options.jobs
    )
