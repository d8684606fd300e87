"""The command line: `wideberth fit | predict | certify | demo | reproduce`.

`main` turns every way a command can end into an exit code and at most one sentence. It
loads what a command needs when it needs it, so that mistakes are named at once.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from signal import default_int_handler
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wideberth.cli.options import ReproduceOptions

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run what it asks for; returns the exit code."""
    options, interrupts = None, []

    def interrupt(number, _frame):
        interrupts.append(number)
        raise KeyboardInterrupt

    if arguments is None and signal.getsignal(signal.SIGINT) is default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    try:
        from wideberth.cli.options import (
            DemoOptions,
            FitOptions,
            ReproduceOptions,
            parse,
        )

        options = parse(arguments)
        if isinstance(options, DemoOptions):
            from wideberth.cli.demo import prepare

            options = parse(prepare(options))
        if isinstance(options, ReproduceOptions):
            return _reproduce(options)
        # What is wrong with files is said before the libraries are loaded.
        from wideberth.cli.output import check_free

        check_free(options.outputs(), options.force)
        options.check_inputs()
        opened = []
        if isinstance(options, FitOptions):
            from wideberth.cli.tables import open_training_data

            opened.append(open_training_data(options))
        command = import_module(f"{__name__}.{options.command}")
        if interrupts:  # while Python ignored exceptions, as during some imports
            raise KeyboardInterrupt
        return command.run(options, *opened)
    except BrokenPipeError:
        return 141  # whoever read the output has had enough
    except (KeyboardInterrupt, Exception) as error:
        # Compiled modules turn an interrupt while they load into an ImportError.
        if interrupts or isinstance(error, KeyboardInterrupt):
            print("\nwideberth: interrupted.", file=sys.stderr)
            return 130
        if getattr(options, "debug", False):
            import traceback

            traceback.print_exc()
        from wideberth.data.errors import visible

        sentence, code = _ended(error)
        print(f"wideberth: {visible(sentence)}", file=sys.stderr)
        return code
    finally:
        if arguments is None:
            # All is done; an interrupt while Python shuts down must not undo it.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _ended(error: Exception) -> tuple[str, int]:
    """Say what ended a command, and with which exit code."""
    from wideberth.cli.errors import UserError
    from wideberth.cli.options import UsageError
    from wideberth.data import DataError

    if isinstance(error, UserError | DataError | ImportError):
        return str(error), 2 if isinstance(error, UsageError) else 1
    if isinstance(error, MemoryError):
        return "there is not enough memory for this.", 1
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}.", 1
    what = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return f"this is a bug ({what}); --debug shows where.", 1


def _reproduce(options: ReproduceOptions) -> int:
    """Run the experiments of the paper, where the package that has them is there."""
    if find_spec("wideberth_paper") is None:
        from wideberth.cli.errors import UserError

        raise UserError(
            "the experiments of the screening paper are a package of their own: in a "
            "checkout of wideberth, pip install ./paper."
        )
    from wideberth_paper.reproduce import main

    return main(
        options.out, quick=options.quick, repeats=options.repeats, jobs=options.jobs
    )
