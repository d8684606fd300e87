"""`wideberth reproduce`: the experiments of the screening paper."""

from __future__ import annotations

from wideberth.cli.commands import ReproduceOptions

__all__ = ["run"]


def run(options: ReproduceOptions) -> int:
    """Run the experiments and write their report."""
    from wideberth.paper.reproduce import main

    return main(
        options.out, quick=options.quick, repeats=options.repeats, jobs=options.jobs
    )
