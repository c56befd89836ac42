"""The rows of a regime: which are kept, which get a wrong answer. Pure functions of content and seed.

Shares are met exactly over all rows and, by largest remainders, in proportion to the domains or data sources.
"""

from __future__ import annotations

import copy
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards import knights
from dataflex_rl.rewards.dispatch import SOURCES, verifier
from dataflex_rl.seeding import prompt_key, stream_seed

_DIGITS = 9  # shares of rows are compared to this precision, so that float noise decides nothing


def identity(prompt: Any, model: Mapping[str, Any] | None) -> str:
    """Return what tells rows apart whatever their order: prompt and answer, since a prompt may occur twice."""
    return f"{prompt_key(prompt)} {_text(_truth(model))}"


def _truth(model: Mapping[str, Any] | None) -> Any:
    return None if model is None else model.get("ground_truth")


def _text(truth: Any) -> str:
    return json.dumps(truth, sort_keys=True, default=str)


def kept_rows(keys: Sequence[str], domains: Sequence[str], fraction: float, seed: int) -> list[int]:
    """Return the rows kept, ascending: round(fraction x all rows), at least 1, in proportion to the domains.

    Each domain keeps at least 1 where there are as many to keep as domains.
    """
    return sorted(row for rows in _drawn(keys, domains, fraction, seed, "subset", least=1) for row in rows)


def mislabelled(
    models: Sequence[dict[str, Any]], keys: Sequence[str], sources: Sequence[str], noise: float, seed: int
) -> list[dict[str, Any]]:
    """Return `reward_model` entries of which round(noise x all), in proportion to the data sources, have a wrong
    `ground_truth`.

    A wrong one is of the same form as the right one and drawn by seed and content: for knights and knaves the same
    people in other roles, else the right one of another row of the same data source, which the source's verifier, where
    it is one of ours, does not take for this row's.

    Raises:
        ConfigError: a row without an answer, a data source whose rows all have the same one, or an answer that is no
            text although its source is one of ours.
    """
    result = [copy.copy(model) for model in models]
    answers: dict[str, dict[str, Any]] = defaultdict(dict)
    for model, source in zip(models, sources, strict=True):
        truth = _truth(model)
        if truth is None or (source in SOURCES and not isinstance(truth, str)):
            expected = "a text" if source in SOURCES else "an answer"
            raise ConfigError(
                f"regime.label_noise: a row of data source {source!r} has ground_truth {truth!r}; expected {expected}"
            )
        answers[source][_text(truth)] = truth
    ordered = {source: [found[key] for key in sorted(found)] for source, found in answers.items()}
    for rows in _drawn(keys, sources, noise, seed, "noise", least=0):
        for row in rows:
            gold, source, number = models[row]["ground_truth"], sources[row], stream_seed(seed, "wrong", keys[row])
            if SOURCES.get(source) == "knights":
                result[row]["ground_truth"] = _other_roles(gold, number)
            else:
                result[row]["ground_truth"] = _other_answer(gold, source, ordered[source], number)
    return result


def _other_roles(gold: str, number: int) -> str:
    """Return a gold answer of knights and knaves with the roles of some people exchanged; each choice is as likely."""
    roles = knights.parse_gold(gold)
    exchanged = 1 + number % (2 ** len(roles) - 1)  # one bit per person, not all 0
    return knights.gold_text(
        {name: (role == "knight") != bool(exchanged >> bit & 1) for bit, (name, role) in enumerate(roles.items())}
    )


def _other_answer(gold: Any, source: str, answers: Sequence[Any], number: int) -> Any:
    """Return the first of a source's answers, from a drawn one on, that is not the gold one in another spelling."""
    others = [answer for answer in answers if answer != gold]
    for place in range(len(others)):
        other = others[(number + place) % len(others)]
        if source not in SOURCES or not _accepted(other, source, gold):
            return other
    raise ConfigError(f"regime.label_noise: every answer of data source {source!r} is the same")


def _accepted(answer: str, source: str, gold: str) -> bool:
    grader = verifier(source)
    return bool(grader.compute_score(source, grader.state(answer), gold)["score"])


def _drawn(
    keys: Sequence[str], groups: Sequence[str], share: float, seed: int, stream: str, *, least: int
) -> list[list[int]]:
    """Return, per group, the rows drawn: those that come first in an order made of seed and content."""
    members: dict[str, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        members[group].append(row)
    ties = {group: stream_seed(seed, stream, "group", str(group)) for group in members}
    count = _counts({group: len(rows) for group, rows in members.items()}, share, ties, least=least)
    return [
        sorted(rows, key=lambda row: (stream_seed(seed, stream, keys[row]), row))[: count[group]]
        for group, rows in members.items()
    ]


def _counts(sizes: Mapping[str, int], share: float, ties: Mapping[str, int], *, least: int) -> dict[str, int]:
    """Return how many of each group are drawn: round(share x all) in total, by largest remainders.

    At least `least` in total, and of each group where the total allows it.
    """
    total = max(least, round(share * sum(sizes.values())))
    each = least if total >= len(sizes) else 0
    wish = {group: round(share * size, _DIGITS) for group, size in sizes.items()}
    count = {group: max(each, math.floor(wish[group])) for group in sizes}
    while sum(count.values()) < total:
        count[max(sizes, key=lambda group: (wish[group] - count[group], ties[group]))] += 1
    while sum(count.values()) > total:
        owners = [group for group in sizes if count[group] > each]
        count[min(owners, key=lambda group: (wish[group] - count[group], ties[group]))] -= 1
    return count
