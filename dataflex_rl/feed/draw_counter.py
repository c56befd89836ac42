"""What the trainer draws: an identity for each prompt, counted and digested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dataflex_rl.feed.identity import Identity, make_uid
from dataflex_rl.seeding import StreamDigest, prompt_key


class PromptLedger:
    """Counts how often each prompt was drawn and digests the stream, over all and per domain."""

    def __init__(self) -> None:
        self._draws: Counter[str] = Counter()
        self.digest = StreamDigest()

    def take(self, raw_prompt_P: Sequence[Any], domain_P: Sequence[str]) -> list[str]:
        """Enter a batch of drawn prompts, in order, and return their uids."""
        uids = []
        for messages, domain in zip(raw_prompt_P, domain_P, strict=True):
            key = prompt_key(messages)
            identity = Identity(key, self._draws[key])
            self.digest.update(key, domain, identity.draw)
            self._draws[key] += 1
            uids.append(make_uid(identity))
        return uids

    @property
    def repeats(self) -> int:
        """Draws beyond the first of a prompt, over the run."""
        return sum(self._draws.values()) - len(self._draws)

    def state_dict(self) -> dict[str, Any]:
        """Return draw counts and digests as plain data."""
        return {"draws": dict(self._draws), "digest": self.digest.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self._draws = Counter(state["draws"])
        self.digest.load_state_dict(state["digest"])
