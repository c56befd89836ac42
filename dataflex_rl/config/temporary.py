"""The temporary folder that runs use: the system's, where its path is short enough for a Ray instance's sockets."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dataflex_rl.errors import ConfigError

PREFIX = "dfx-"  # of a run's own folder in it
_SHORT = "/tmp"  # where the usual temporary folder has too long a path
_LONGEST = 107  # [bytes] of a socket's path; Ray refuses more
_BELOW = len(f"/{PREFIX}12345678" + "/ray/session_2000-01-01_00-00-00_000000_1234567" + "/sockets/plasma_store")


def base_folder() -> Path:
    """Return the temporary folder, RAY_TMPDIR or else the system's, short enough for the sockets of a Ray instance.

    Raises:
        ConfigError: neither it nor /tmp serves.
    """
    try:
        usual = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    except FileNotFoundError as error:
        raise ConfigError(f"no temporary folder can be written to ({error}); set TMPDIR to one that can") from error
    tried = []
    for place in dict.fromkeys((usual, _SHORT)):
        too_long = len(os.fsencode(place)) + _BELOW > _LONGEST
        if not too_long and os.access(place, os.W_OK | os.X_OK):
            return Path(place)
        tried.append(f"{place} ({'too long a path' if too_long else 'not writable'})")
    raise ConfigError(
        f"no temporary folder serves: {', '.join(tried)}; set TMPDIR to a writable one of at most "
        f"{_LONGEST - _BELOW} characters, since the paths of Ray's sockets may have {_LONGEST}"
    )
