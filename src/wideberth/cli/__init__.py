"""The command line: `wideberth fit | predict | certify | path | reproduce`.

`main` turns every way a command can end into an exit code and at most one sentence.
"""

from __future__ import annotations

import signal
import sys
import traceback
from importlib import import_module
from signal import default_int_handler

from wideberth.cli.errors import UserError
from wideberth.cli.options import TableOptions, TrainingOptions, UsageError, parse
from wideberth.cli.output import check_free
from wideberth.data import DataError

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
        options = parse(arguments)
        if isinstance(options, TableOptions):
            # What is wrong with files is said before the libraries are loaded.
            check_free(options.outputs(), options.force)
            options.check_inputs()
        command, opened = options.command, []
        if isinstance(options, TrainingOptions):
            from wideberth.cli.tables import open_training_data

            opened.append(open_training_data(options))
        return import_module(f"{__name__}.{command}").run(options, *opened)
    except BrokenPipeError:
        return 141  # whoever read the output has had enough
    except (KeyboardInterrupt, Exception) as error:
        # Compiled modules turn an interrupt while they load into an ImportError.
        if interrupts or isinstance(error, KeyboardInterrupt):
            print("\nwideberth: interrupted.", file=sys.stderr)
            return 130
        if getattr(options, "debug", False):
            traceback.print_exc()
        print(f"wideberth: {_sentence(error)}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    finally:
        if arguments is None:
            # All is done; an interrupt while Python shuts down must not undo it.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _sentence(error: Exception) -> str:
    """Say what ended a command."""
    if isinstance(error, UserError | DataError | ImportError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this."
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}."
    what = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return f"this is a bug ({what}); --debug shows where."
