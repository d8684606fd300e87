"""The command line: `wideberth fit | predict | certify | path | reproduce`.

`main` turns every way a command can end into an exit code and at most one sentence.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback

from wideberth.cli import certify, fit, path, predict, reproduce
from wideberth.cli.errors import UserError
from wideberth.cli.options import EXIT_CODES
from wideberth.data import DataError

__all__ = ["main"]

_EXAMPLES = """\
examples:
  wideberth fit measurements.csv --target diagnosis --standardize \\
      --noise-scales precision.csv --out model.skops --report report.html
  wideberth predict model.skops new.csv > predictions.csv
  wideberth certify model.skops test.csv --curve curve.csv --out rows.csv

"""


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run what it asks for; returns the exit code."""
    options = argparse.Namespace()
    try:
        options = _parser().parse_args(arguments)
        return options.run(options)
    except BrokenPipeError:
        return 141  # whoever read the output has had enough
    except KeyboardInterrupt:
        print("\nwideberth: interrupted.", file=sys.stderr)
        return 130
    except (UserError, DataError, ImportError) as error:
        return _complain(str(error), options)
    except MemoryError:
        return _complain("there is not enough memory for this.", options)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}.", options)
    except Exception as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return _complain(f"this is a bug ({what}); --debug shows where.", options)
    finally:
        if arguments is None:
            # All is done; an interrupt while Python shuts down must not undo it.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _complain(sentence: str, options: argparse.Namespace) -> int:
    if getattr(options, "debug", False):
        traceback.print_exc()
    print(f"wideberth: {sentence}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    from wideberth import __version__

    parser = argparse.ArgumentParser(
        prog="wideberth",
        description="Linear classifiers that stay right when features are noisy.\n"
        "`wideberth COMMAND --help` explains each command.",
        epilog=_EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (fit, predict, certify, path, reproduce):
        command.add_parser(commands)
    return parser
