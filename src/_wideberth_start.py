"""Where the executable starts: a module of its own, so that it loads at once.

Loading the package takes a good part of a second, and whoever presses Ctrl-C during it
should see what they see at any other time.
"""

import sys


def main() -> int:
    """Load the command line and run it; returns the exit code."""
    try:
        sys.unraisablehook = press_again
        from wideberth.cli import main

        return main()
    except KeyboardInterrupt:
        print("\nwideberth: interrupted.", file=sys.stderr)
        return 130


def press_again(event) -> None:
    """Repeat a Ctrl-C that came where Python ignores exceptions, during imports say."""
    if event.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(event)
        return
    import _thread
    import time

    def press() -> None:
        time.sleep(0.001)  # until it is out of here, where exceptions are ignored, too
        _thread.interrupt_main()

    _thread.start_new_thread(press, ())
