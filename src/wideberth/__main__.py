"""`python -m wideberth` is the command `wideberth`."""

import sys

from _wideberth_start import main

sys.exit(main())
