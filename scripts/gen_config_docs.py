"""Write docs/configuration.md from the schema of settings and the comments in conf/; `make check` finds it outdated.

python scripts/gen_config_docs.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from dataflex_rl.config.reference import page

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"


def main() -> int:
    """Write the page; returns the exit code."""
    DOCUMENT.parent.mkdir(exist_ok=True)
    part = DOCUMENT.with_suffix(".tmp")
    part.write_text(page(), encoding="utf-8")
    part.replace(DOCUMENT)
    print(DOCUMENT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
