"""The command line: `wideberth reproduce`."""

from __future__ import annotations

import argparse

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run what it asks for; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="wideberth",
        description="Linear classifiers that stay right when features are noisy.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser(
        "reproduce", help="run the experiments of the screening paper on its data"
    )
    parser.parse_args(arguments)
    try:
        from wideberth.paper.reproduce import main as reproduce

        return reproduce()
    except ImportError as error:
        parser.exit(1, f"wideberth: {error}\nInstall: pip install 'wideberth[all]'.\n")
    except KeyboardInterrupt:
        parser.exit(130, "\nwideberth: interrupted.\n")
