"""A temporary folder of one's own for what a run's processes create outside of its record; it ends with the run.

Ray's session folders and verl's lock files go there. A run that is killed leaves its folder behind; the next start on
the machine removes those whose owner is dead: each owner holds a lock in its folder, which the system frees.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from dataflex_rl.config.temporary import PREFIX, base_folder

_OWNER = ".owner"


@contextmanager
def scratch_folder() -> Iterator[dict[str, str]]:
    """Make a folder, yield the environment under which processes use it as their temporary one, and remove it.

    Raises:
        ConfigError: no temporary folder can be written to; says which were tried.
    """
    base = base_folder()
    _clear(base)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    try:
        with FileLock(folder / _OWNER):
            yield {"TMPDIR": str(folder), "RAY_TMPDIR": str(folder)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _clear(base: Path) -> None:
    """Remove the folders of dead owners that no living process has as its temporary folder."""
    dead = [folder for folder in base.glob(f"{PREFIX}*") if _is_dead(folder)]
    in_use = _in_use() if dead else set()
    for folder in dead:
        if str(folder) not in in_use:
            shutil.rmtree(folder, ignore_errors=True)


def _is_dead(folder: Path) -> bool:
    """Return whether a folder had an owner who holds it no more."""
    lock = folder / _OWNER
    if not lock.is_file() or not os.access(lock, os.W_OK):  # not one of ours, or another user's
        return False
    try:
        with FileLock(lock, timeout=0):
            return True
    except Timeout:
        return False


def _in_use() -> set[str]:
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            found.add(process.environ().get("TMPDIR", ""))
    return found
