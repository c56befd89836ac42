"""A folder of prepared data is replaced as a whole: readers see the old one or the new one, never a mixture."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from dataflex_rl.errors import ConfigError

_AT_FDCWD, _EXCHANGE = -100, 2  # of renameat2: paths as they are; put each in the other's place
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


@contextmanager
def replaced(folder: Path, files: tuple[str, ...]) -> Iterator[Path]:
    """Give an empty folder to write `files` to; on leaving without an error it takes the place of `folder`.

    An error, or a kill at any moment, leaves `folder` as it was. One process replaces a folder at a time, others wait.
    Where the system cannot exchange two folders, a kill between two moves leaves the old one to the next preparation.

    Raises:
        ConfigError: the folder has other files than those, is the current folder, or cannot be written (a full disk).
    """
    try:
        folder = home(folder).resolve()
        _check(folder, files)
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = folder.with_name(f".{folder.name}.new")
        lock = folder.with_name(f".{folder.name}.lock")
        os.close(os.open(lock, os.O_RDWR | os.O_CREAT, 0o644))  # FileLock waits for ever where it cannot be made
        with FileLock(lock):
            _recover(folder)
            shutil.rmtree(new, ignore_errors=True)  # of a process that was killed
            new.mkdir()
            try:
                yield new
                assert sorted(os.listdir(new)) == sorted(files), f"wrote {sorted(os.listdir(new))}, not {files}"
                _check(folder, files)
                _swap(new, folder)
            finally:
                shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        reason = (error.strerror or str(error) or type(error).__name__).splitlines()[0]
        raise ConfigError(f"{folder}: cannot be written ({reason}); what was there is unchanged") from error


def home(path: Path) -> Path:
    """Return a path with the home folder in place of its `~`.

    Raises:
        ConfigError: the home of a user that does not exist.
    """
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ConfigError(f"{path}: there is no such home folder; expected a path") from error


def _check(folder: Path, files: tuple[str, ...]) -> None:
    if Path.cwd().is_relative_to(folder):
        raise ConfigError(f"{folder}: is the current folder or holds it; expected one that can be replaced as a whole")
    others = sorted(set(os.listdir(folder)) - set(files)) if folder.exists() else []
    if others:
        raise ConfigError(
            f"{folder}: has {', '.join(others[:3])}{', ...' if len(others) > 3 else ''}; expected a new folder, or one "
            f"with nothing but {', '.join(files)}, since it is replaced as a whole"
        )


def _swap(new: Path, folder: Path) -> None:
    """Put `new` in the place of `folder`, in one move where the system has it; what was there goes."""
    if not folder.exists() or not os.listdir(folder):
        new.rename(folder)
    elif not _exchange(new, folder):
        folder.rename(_old(folder))
        try:
            new.rename(folder)
        finally:
            _recover(folder)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders at once; False where the system or the file system cannot.

    Raises:
        OSError: it can, and refused.
    """
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), ctypes.c_uint(_EXCHANGE)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(second))


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _recover(folder: Path) -> None:
    """Put a folder back that was moved aside and not replaced; else remove what was moved aside."""
    old = _old(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
