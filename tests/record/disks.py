"""Small disks: the ways a machine has to run out of room."""

from __future__ import annotations

import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

ROOM = 65536  # [bytes]


@contextmanager
def tmpfs(folder: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)], check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def file_limit(folder: Path) -> Iterator[Path]:
    """A system that refuses files above 64 KiB, after having written their first 64 KiB."""
    folder.mkdir()
    with _limit(ROOM):
        yield folder


@contextmanager
def _limit(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Leave no room in a small disk: fill a file system, else refuse what lies beyond the first 8 bytes of a file."""
    if not folder.is_mount():
        with _limit(8):
            yield
        return
    filling = folder / ".filling"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    yield
    filling.unlink()


def small_disks() -> list[object]:
    """Return the ways of this machine: the limit everywhere, a full disk where one can be mounted."""
    ways = [pytest.param(file_limit, r"File too large \(EFBIG\)", id="limit")]
    with (
        tempfile.TemporaryDirectory() as folder,
        suppress(OSError, subprocess.CalledProcessError),
        tmpfs(Path(folder, "d")),
    ):
        ways.append(pytest.param(tmpfs, r"No space left on device \(ENOSPC\)", id="tmpfs"))
    return ways


small = pytest.mark.parametrize(("small_disk", "reason"), small_disks())
