"""Ctrl-C and SIGTERM of a sweep command: raised while nothing has to be cleaned up, noted where something has.

A KeyboardInterrupt can arrive inside any call, and some libraries swallow it. So the launcher looks at `asked` instead:
nothing of it is torn in the middle, and a second Ctrl-C changes nothing.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """As a context: takes the two signals over. `asked` says whether one has come.

    Without one the former handlers come back at the end; after one the rest of the process ignores further ones.
    """

    def __init__(self) -> None:
        self.asked = False
        self._deferred = False

    def __enter__(self) -> Interrupt:
        self._former = {number: signal.getsignal(number) for number in _NUMBERS}
        self._install()
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, signal.SIG_IGN if self.asked else handler)

    def _install(self) -> None:
        for number in _NUMBERS:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if not self._deferred:
            raise KeyboardInterrupt

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside, a signal is only noted."""
        before, self._deferred = self._deferred, True
        self._install()
        try:
            yield
        finally:
            self._deferred = before

    def check(self) -> None:
        """Raise the KeyboardInterrupt of a signal that was noted, or that somebody swallowed."""
        self._install()  # importing Ray takes SIGTERM over
        if self.asked:
            raise KeyboardInterrupt


def interruptible(action: Callable[[Interrupt], int]) -> int:
    """Return what an action returns, or 130 with a line on how to go on where a signal ended it."""
    try:
        with Interrupt() as interrupt:
            return action(interrupt)
    except KeyboardInterrupt:
        print("interrupted; the same command continues", file=sys.stderr)
        return 130
