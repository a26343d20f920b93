"""``python -m isingmlc`` is ``isingmlc``."""

import sys

from isingmlc.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
