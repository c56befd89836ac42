"""The rounds in which a step's groups are generated: screening, continuing, backfilling. A pure state machine.

`order` says what to generate next, `add` takes in what came of it, and again until there is no order; `finish` says
what to train on. A state is plain data: a run resumes in the middle of any round.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflex_rl.feed import backfill
from dataflex_rl.feed.backfill import Backfill, Batch, Group
from dataflex_rl.feed.budget_config import TwoPhase

# without backfill the first draw is the batch: what has no signal fills it
ONE_DRAW = Backfill(max_rounds=0, max_tokens_factor=1.0, on_short="fill_constant", carry=False)


@dataclass(frozen=True, kw_only=True)
class Result:
    """A group as it stands: its uid, its domain's place, tokens generated so far, responses, how many of them are
    solved, their mean reward, and whether their rewards differ.
    """

    uid: str
    domain: int
    tokens: int
    tries: int
    solved: int
    reward: float
    signal: bool


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Generate so many further prompts of each domain."""

    count_D: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Continue:
    """Generate n further responses of prompts, whose responses so far are numbered below `first`."""

    uids: tuple[str, ...]
    n: int
    first: int


class Rounds:
    """A step under way.

    Args:
        quota_D: groups to train on, per domain. n: responses of a plain group.
        screening: the two phases, None: a group is whole at once.
        options: of the backfill; `ONE_DRAW` without.
        carried: groups with signal that the last step left.
    """

    def __init__(
        self,
        quota_D: Sequence[int],
        *,
        n: int,
        screening: TwoPhase | None = None,
        options: Backfill = ONE_DRAW,
        carried: Sequence[Group] = (),
    ) -> None:
        self._n, self._screening, self._options = n, screening, options
        self.state = backfill.start(quota_D, carried)
        self.results: dict[str, Result] = {}  # of this step, by uid, in the order of the draws
        self._round: list[str] = []  # uids of the draw under way
        self._open: tuple[str, ...] = ()  # of those, the ones to be continued
        self._exhausted = False
        self.screened_tokens = 0

    def order(self) -> Draw | Continue | None:
        """Return what to generate next, None at the end of the step."""
        if self._open:
            assert self._screening is not None
            return Continue(uids=self._open, n=self._screening.more(self._n), first=self._screening.n_init)
        count_D = backfill.wanted_D(self._options, self.state)
        return Draw(count_D=count_D) if any(count_D) else None

    def add(self, results: Sequence[Result], *, exhausted: bool = False) -> None:
        """Take in what the last order gave, all groups of it. `exhausted`: there were fewer prompts than it wanted."""
        self.results |= {result.uid: result for result in results}
        if self._open:
            self._open = ()
        else:
            self._round, self._exhausted = [result.uid for result in results], exhausted
            self._open = self._mixed(results)
        if not self._open:
            self._close_round()

    def finish(self) -> Batch:
        """End the step. Not so many groups are carried that the next step would have nothing to draw."""
        batch = backfill.finish(self._options, self.state)
        spare = max(sum(self.state.quota_D) - 1, 0)
        return dataclasses.replace(batch, carry=batch.carry[:spare], dropped=batch.dropped + batch.carry[spare:])

    @property
    def tokens(self) -> int:
        """Tokens generated in this step."""
        return sum(result.tokens for result in self.results.values())

    def state_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "state": self.state.state_dict(),
            "results": [dataclasses.asdict(result) for result in self.results.values()],
            "round": list(self._round),
            "open": list(self._open),
            "exhausted": self._exhausted,
            "screened_tokens": self.screened_tokens,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of the same options."""
        self.state = backfill.State.of(state["state"])
        self.results = {result["uid"]: Result(**result) for result in state["results"]}
        self._round, self._open = list(state["round"]), tuple(state["open"])
        self._exhausted = bool(state["exhausted"])
        self.screened_tokens = int(state["screened_tokens"])

    def _mixed(self, results: Sequence[Result]) -> tuple[str, ...]:
        """Return the screened prompts that are to be continued."""
        if self._screening is None or not results:
            return ()
        self.screened_tokens += sum(result.tokens for result in results)
        solved_P, tries_P = (np.array([getattr(r, name) for r in results]) for name in ("solved", "tries"))
        more_P = self._screening.further(solved_P, tries_P, self._n)
        return tuple(result.uid for result, more in zip(results, more_P.tolist(), strict=True) if more)

    def _close_round(self) -> None:
        found = [self.results[uid] for uid in self._round]
        groups = [Group(uid=r.uid, domain=r.domain, tokens=r.tokens, signal=r.signal) for r in found]
        self.state = backfill.add(self.state, groups, exhausted=self._exhausted, plain_tokens=self._plain(found))
        self._round = []

    def _plain(self, found: Sequence[Result]) -> float | None:
        """Return the tokens of a plain batch at the mean length of the first draw's responses."""
        tries = sum(result.tries for result in found)
        if not tries:
            return None
        return sum(result.tokens for result in found) / tries * self._n * sum(self.state.quota_D)
