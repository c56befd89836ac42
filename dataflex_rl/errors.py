"""The errors a user can cause. Everything else is a bug of ours and raises as it is."""

from __future__ import annotations

from collections.abc import Iterable


class ConfigError(ValueError):
    """A setting, name or file given by the user does not fit.

    The message is one line: the name of the thing, what it got, what it expected, what exists.
    Command lines print it and exit with code 2, before Ray starts.
    """


def unknown(kind: str, name: object, known: Iterable[str]) -> ConfigError:
    """Build the error for a name that is not registered: `unknown scorer 'x'; known: a, b`."""
    return ConfigError(f"unknown {kind} {name!r}; known: {', '.join(sorted(known)) or '(none)'}")
