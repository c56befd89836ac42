"""Where the project's configuration lives, in a checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def shipped(folder: str) -> Path:
    """Return the folder `conf` or `sweeps`: inside the package (a wheel), else beside it (a checkout).

    Raises:
        FileNotFoundError: neither place has it (a broken installation).
    """
    for place in (_PACKAGE / folder, _PACKAGE.parent / folder):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"'{folder}' is neither in {_PACKAGE} nor beside it; reinstall dataflex_rl")
