"""A file system that refuses: system calls on chosen paths fail as they do on a stale network disk."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REASONS = (errno.ESTALE, errno.EIO, errno.EACCES)


@contextmanager
def refused(path: Path, reason: int) -> Iterator[None]:
    """Refuse every look at a path: opening, listing and its facts. Everything else works."""

    def failing(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(name: Any = ".", *arguments: Any, **named: Any) -> Any:
            if isinstance(name, str | os.PathLike) and os.fspath(name) == str(path):
                raise OSError(reason, os.strerror(reason), str(name))
            return call(name, *arguments, **named)

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((io, "open"), (os, "open"), (os, "stat"), (os, "listdir"), (os, "scandir")):
            patch.setattr(module, name, failing(getattr(module, name)))
        yield


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return everything below a folder: the content of files, None for folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
