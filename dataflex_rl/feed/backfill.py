"""Replaces groups without signal by further draws, within bounds, and ends in a stated way. A pure state machine.

`start` a step with what the last one left, ask `wanted_D` how many groups to generate next, `add` them, and again until
it wants none; `finish` says what to train on. A state is plain data: a run resumes in the middle of a round.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dataflex_rl.components.options import within
from dataflex_rl.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Backfill:
    """Options. `max_rounds`: of further draws after the first. `max_tokens_factor`: tokens generated in a step, in
    plain batches. `on_short`: train on fewer groups, fill up with constant ones, or skip the update. `carry`: finished
    groups beyond the batch serve the next step, and no later one; else they are dropped.
    """

    max_rounds: int = 3
    max_tokens_factor: float = 2.0
    on_short: Literal["train_short", "fill_constant", "skip_update"] = "train_short"
    carry: bool = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        within("backfill: max_rounds", self.max_rounds, "an integer of at least 0", self.max_rounds >= 0)
        factor = self.max_tokens_factor
        within("backfill: max_tokens_factor", factor, "at least 1 (plain batches)", 1 <= factor < float("inf"))
        if self.on_short not in ("train_short", "fill_constant", "skip_update"):
            raise ConfigError(
                f"backfill: on_short must be one of train_short, fill_constant, skip_update, got {self.on_short!r}"
            )


@dataclass(frozen=True, kw_only=True)
class Group:
    """A finished group: its uid, its domain's place, tokens generated, whether its outcomes differ, and its age in
    steps (0: of this step).
    """

    uid: str
    domain: int
    tokens: int
    signal: bool
    age: int = 0


@dataclass(frozen=True, kw_only=True)
class State:
    """A step under way. `quota_D`: groups expected per domain; `groups`: what is finished; `rounds`: draws made;
    `plain_tokens`: a batch at the mean length of the first draw; `exhausted`: there are no more prompts.
    """

    quota_D: tuple[int, ...]
    groups: tuple[Group, ...] = ()
    rounds: int = 0
    plain_tokens: float = 0.0
    exhausted: bool = False

    def state_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> State:
        """Return the state that `state_dict` gave."""
        groups = tuple(Group(**group) for group in state["groups"])
        return cls(**{**state, "quota_D": tuple(state["quota_D"]), "groups": groups})


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The end of a step: groups to train on, groups for the next step, groups that are dropped, and how it ended.

    `ended`: full, max_rounds, max_tokens or no_prompts. `missing_D`: groups of each domain without a replacement.
    `skip_update`: there is nothing to train on, or `on_short` says so.
    """

    train: tuple[Group, ...]
    carry: tuple[Group, ...]
    dropped: tuple[Group, ...]
    ended: str
    missing_D: tuple[int, ...]
    skip_update: bool


def start(quota_D: Sequence[int], carried: Sequence[Group] = ()) -> State:
    """Begin a step of so many groups per domain with the groups that the last step carried; they are a step old now."""
    assert all(group.signal and group.age == 0 for group in carried), "only fresh groups with signal are carried"
    return State(quota_D=tuple(quota_D), groups=tuple(dataclasses.replace(group, age=1) for group in carried))


def wanted_D(options: Backfill, state: State) -> tuple[int, ...]:
    """Return how many groups of each domain to generate next; zeros where the step is at its end.

    Further rounds ask for no more groups than fit into the tokens that are left at the mean length seen so far, the
    domain that lacks most first.
    """
    missing_D = _missing_D(state)
    if _ended(options, state) is not None:
        return (0,) * len(missing_D)
    if state.rounds == 0:
        return missing_D
    room = _room(options, state)
    asked_D = [0] * len(missing_D)
    for _ in range(min(room, sum(missing_D))):
        domain = max(range(len(missing_D)), key=lambda d: (missing_D[d] - asked_D[d], -d))
        asked_D[domain] += 1
    return tuple(asked_D)


def add(state: State, groups: Sequence[Group], *, exhausted: bool = False, plain_tokens: float | None = None) -> State:
    """Take in a round's finished groups. `exhausted`: the feed had fewer prompts than were expected. `plain_tokens`:
    of a plain batch, where groups have other numbers of responses; counts in the first round.
    """
    known = {group.uid for group in state.groups}
    if twice := [group.uid for group in groups if group.uid in known]:
        raise ConfigError(f"backfill: group {twice[0]!r} is finished twice in a step")
    plain = state.plain_tokens
    if state.rounds == 0 and groups:
        mean = sum(group.tokens for group in groups) / len(groups)
        plain = mean * sum(state.quota_D) if plain_tokens is None else plain_tokens
    return dataclasses.replace(
        state,
        groups=(*state.groups, *groups),
        rounds=state.rounds + 1,
        plain_tokens=plain,
        exhausted=state.exhausted or exhausted,
    )


def finish(options: Backfill, state: State) -> Batch:
    """End a step: of each domain the groups with signal up to its quota, older ones first, then `on_short`.

    `fill_constant` takes constant groups of the same domain in the order in which they were finished.
    """
    missing_D = _missing_D(state)
    train: list[Group] = []
    for domain, quota in enumerate(state.quota_D):
        mine = [group for group in state.groups if group.domain == domain]
        good = [group for group in mine if group.signal][:quota]
        fill = [group for group in mine if not group.signal] if options.on_short == "fill_constant" else []
        train += good + fill[: quota - len(good)]
    skip = not train or (any(missing_D) and options.on_short == "skip_update")
    used = set() if skip else {group.uid for group in train}
    rest = [group for group in state.groups if group.uid not in used]
    carry = [group for group in rest if options.carry and group.signal and group.age == 0]
    kept = {group.uid for group in carry}
    return Batch(
        train=() if skip else tuple(train),
        carry=tuple(carry),
        dropped=tuple(group for group in rest if group.uid not in kept),
        ended=_ended(options, state) or "stopped",
        missing_D=missing_D,
        skip_update=skip,
    )


def tokens_generated(state: State) -> int:
    """Tokens generated in this step; those of carried groups were counted a step ago."""
    return sum(group.tokens for group in state.groups if group.age == 0)


def _missing_D(state: State) -> tuple[int, ...]:
    have = [sum(group.signal for group in state.groups if group.domain == d) for d in range(len(state.quota_D))]
    return tuple(max(0, quota - count) for quota, count in zip(state.quota_D, have, strict=True))


def _room(options: Backfill, state: State) -> int:
    """Return how many groups still fit into the tokens of a step at the mean length of this step's groups."""
    spent, count = tokens_generated(state), sum(group.age == 0 for group in state.groups)
    if spent == 0:
        return sum(state.quota_D)
    return int((options.max_tokens_factor * state.plain_tokens - spent) * count / spent)


def _ended(options: Backfill, state: State) -> str | None:
    """Return why the step is at its end, None while it is not."""
    if not any(_missing_D(state)):
        return "full"
    if state.rounds == 0:
        return None
    if state.exhausted:
        return "no_prompts"
    if state.rounds > options.max_rounds:
        return "max_rounds"
    return "max_tokens" if _room(options, state) < 1 else None
