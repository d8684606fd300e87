"""`python -m wideberth` is the command `wideberth`."""

import sys

from wideberth.cli import main

sys.exit(main())
