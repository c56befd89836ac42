"""python -m analysis.tables."""

import sys

from analysis.tables.cli import main

if __name__ == "__main__":
    sys.exit(main())
