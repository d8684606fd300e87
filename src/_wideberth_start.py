"""Where the executable starts: a module of its own, so that it loads at once.

Loading the package takes a good part of a second, and whoever presses Ctrl-C during it
should see what they see at any other time.
"""


def main() -> int:
    """Load the command line and run it; returns the exit code."""
    try:
        from wideberth.cli import main

        return main()
    except KeyboardInterrupt:
        import sys

        print("\nwideberth: interrupted.", file=sys.stderr)
        return 130
