"""Who a prompt is: its content key and how often the run had drawn it before.

The feed writes both into the uid (`<16 hex>-<draw>`), so they travel with every rollout without another column. Where a
uid came from somewhere else (verl's own feed, validation), the key is computed from the messages and the draw is 0.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from dataflex_rl.seeding import prompt_key

_UID = re.compile(r"([0-9a-f]{16})-(\d+)")


class Identity(NamedTuple):
    """A drawn prompt; sorts by key, then draw."""

    key: str
    draw: int


def make_uid(identity: Identity) -> str:
    """Return the uid of a drawn prompt. It has no underscore, which verl splits trajectory keys at."""
    return f"{identity.key}-{identity.draw}"


def from_uid(uid: str) -> Identity | None:
    """Return what a uid of our feed says, None for a foreign uid."""
    found = _UID.fullmatch(uid)
    return Identity(found[1], int(found[2])) if found else None


def identify(uid: str, raw_prompt: Any) -> Identity:
    """Return the identity of a prompt from its uid, else from its messages (draw 0)."""
    return from_uid(uid) or Identity(prompt_key(raw_prompt), 0)


class TrajectoryKey(NamedTuple):
    """verl's key of one trajectory, `{uid}_{session}_{index}`, taken apart."""

    uid: str
    session: int
    output: int

    @classmethod
    def parse(cls, key: str) -> TrajectoryKey:
        """Split a trajectory key at its last two underscores."""
        uid, session, index = key.rsplit("_", 2)
        return cls(uid, int(session), int(index))
