"""The folder cache: each entry is built once, whole or not at all, also when processes race for it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

from dataflex_rl.errors import ConfigError


def default_root() -> Path:
    """Return the user's cache directory for dataflex_rl (not created)."""
    return Path(platformdirs.user_cache_dir("dataflex_rl"))


def entry_path(root: Path, kind: str, options: Mapping[str, Any]) -> Path:
    """Return where an entry lives: `<root>/<kind>-<first 16 hex digits of the SHA-256 of its options>`."""
    text = json.dumps({"kind": kind, **options}, sort_keys=True)
    return root / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def is_there(path: Path) -> bool:
    """Return whether a file is there.

    Raises:
        ConfigError: the system refuses to look (a stale handle, no permission): that is no reason to make it anew.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from error


def is_complete(entry: Path, files: tuple[str, ...]) -> bool:
    """Return whether the entry holds all its files; ConfigError as is_there."""
    return all(is_there(entry / name) for name in files)


def get_or_build(
    entry: Path, files: tuple[str, ...], make: Callable[[Path], None], *, waiting: Callable[[], None] | None = None
) -> Path:
    """Return the entry, building it with `make(folder)` if it is missing or lacks one of its files.

    One process builds; the others call `waiting` and wait for its lock. A build that fails leaves nothing behind, and
    one of those that wait builds in its place.
    """
    if is_complete(entry, files):
        return entry
    entry.parent.mkdir(parents=True, exist_ok=True)
    with _held(Path(f"{entry}.lock"), waiting):
        if not is_complete(entry, files):
            _build(entry, files, make)
    return entry


@contextmanager
def _held(file: Path, waiting: Callable[[], None] | None) -> Iterator[None]:
    """Hold the lock of a file; `waiting` is called once if another process or thread has it."""
    lock = FileLock(file)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if waiting is not None:
            waiting()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _build(entry: Path, files: tuple[str, ...], make: Callable[[Path], None]) -> None:
    folder = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    try:
        make(folder)
        assert is_complete(folder, files), (
            f"building {entry.name} made {sorted(os.listdir(folder))}, not all of {files}"
        )
        if entry.exists():
            shutil.rmtree(entry)
        folder.chmod(0o755)
        folder.replace(entry)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
