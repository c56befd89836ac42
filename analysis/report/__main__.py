"""python -m analysis.report."""

import sys

from analysis.report.cli import main

if __name__ == "__main__":
    sys.exit(main())
