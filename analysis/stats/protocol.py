"""What a study fixes before its first run, as plain JSON with a digest; a change afterwards is a new study."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from analysis.errors import AnalysisError
from analysis.stats.boundaries import Boundaries
from analysis.stats.decisions import Decision, Look
from analysis.stats.design import Design


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Design and boundaries, the arms and their control, the primary score, and the seeds in the order of their use."""

    design: Design
    bounds: Boundaries
    arms: tuple[str, ...]
    control: str
    score: str
    seeds: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """Give plain values and their digest."""
        fields: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return fields | {"digest": _digest(fields)}


def read(stored: Mapping[str, Any]) -> Protocol:
    """Read a protocol back. Raises AnalysisError where a field is missing or its digest is not that of its fields."""
    fields = {k: v for k, v in stored.items() if k != "digest"}
    if stored.get("digest") != _digest(fields):
        raise AnalysisError(f"protocol: digest {stored.get('digest')!r} is not that of its fields: it was edited")
    try:
        lists: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields["design"].items()}
        family = tuple(tuple(row) for row in fields["bounds"]["family_LJ"])
        return Protocol(
            design=Design(**lists),
            bounds=Boundaries(one_J=tuple(fields["bounds"]["one_J"]), family_LJ=family),
            arms=tuple(fields["arms"]),
            control=fields["control"],
            score=fields["score"],
            seeds=tuple(fields["seeds"]),
        )
    except (KeyError, TypeError) as error:
        raise AnalysisError(f"protocol: {error}; expected design, bounds, arms, control, score and seeds") from error


def changes(before: Protocol, now: Protocol) -> list[str]:
    """Name every field that differs, with both values: none of them may change after the first run."""
    a, b = (_flat(p.as_json()) for p in (before, now))
    return [f"{k}: {a.get(k)!r} became {b.get(k)!r}" for k in dict.fromkeys([*a, *b]) if a.get(k) != b.get(k)]


def look_as_json(look: Look) -> dict[str, Any]:
    """Give a look as plain values; a number that does not exist is null."""
    plain: dict[str, Any] = asdict(look)
    for decision in plain["decisions"]:
        for key, value in decision.items():
            if isinstance(value, float) and math.isnan(value):
                decision[key] = None
    return plain | {"decisions": list(plain["decisions"])}


def look_from_json(stored: Mapping[str, Any]) -> Look:
    """Read a look back, whatever else lies beside its fields. Raises AnalysisError where a field is missing."""
    try:
        decisions = [Decision(**_numbers(d)) for d in stored["decisions"]]
        return Look(look=stored["look"], decisions=tuple(decisions), refused=stored["refused"])
    except (KeyError, TypeError) as error:
        raise AnalysisError(f"look: {error}; expected look, decisions and refused") from error


def _numbers(stored: Mapping[str, Any]) -> dict[str, Any]:
    missing = ("delta", "se", "needed", "low", "high")
    return {k: math.nan if v is None and k in missing else v for k, v in stored.items()}


def _digest(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def _flat(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Lay the fields side by side, without the digest."""
    flat: dict[str, Any] = {}
    for key, value in stored.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{k}": v for k, v in value.items()}
        elif key != "digest":
            flat[key] = value
    return flat
