"""The one error that a user of the analysis can cause."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable

LEFT_OUT = 3  # exit code: there are results, but records were left out as broken; stderr names them


class AnalysisError(ValueError):
    """A source, name or option does not fit.

    The message is one line: the file, row and column (or option), what it got, what it expected, what exists.
    Command lines print it and exit with code 2.
    """


def unknown(kind: str, name: object, known: Iterable[object]) -> AnalysisError:
    """Build the error for a name that does not exist: `unknown table 'x'; known: main, cost`."""
    listed = ", ".join(str(k) for k in known)
    return AnalysisError(f"unknown {kind} {name!r}; known: {listed or '(none)'}")


def guarded(command: Callable[[], int]) -> int:
    """Run a command line's body: an AnalysisError becomes one line on stderr and exit code 2.

    A reader that closes the pipe early (`| head`) ends the command quietly with exit code 1. What the terminal's
    encoding lacks is escaped.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = command()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # what is left in the buffer has no reader
        return 1
    except AnalysisError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
