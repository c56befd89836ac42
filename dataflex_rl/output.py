"""What every command prints through: no text of a user ends it, nor does a terminal or a pipe that cannot take it."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

_GONE = (errno.EPIPE, errno.EIO, errno.ENOSPC)  # the reader has left, the terminal is closed, the file's disk is full


def safe_output() -> None:
    """Let standard output and error escape characters that their encoding lacks, and fall silent when they are gone."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, cast(TextIO, SafeStream(stream)))


class SafeStream:
    """A text stream that drops what it is given once nobody reads it any more; else as the stream it wraps."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, or drop it."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._silence(error)
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts, or drop them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what is kept back, or drop it."""
        try:
            self._stream.flush()
        except OSError as error:
            self._silence(error)

    def _silence(self, error: OSError) -> None:
        """Lead the stream to nowhere, so that what it has kept back goes there too, at the very end as well."""
        if error.errno not in _GONE:
            raise error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def plain_console(file: TextIO | None = None) -> Console:
    """Return a console of rich that prints every text as it is: brackets and colons in it mean nothing."""
    from rich.console import Console

    return Console(file=file or sys.stdout, highlight=False, markup=False, emoji=False)
