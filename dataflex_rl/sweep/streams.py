"""The prompts that runs of one seed consumed: equal in order, or per domain where a run mixes domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from dataflex_rl.seeding import common_prefix

_Named = tuple[str, Mapping[str, Any]]  # a method and one of its streams


@dataclass(frozen=True, kw_only=True)
class Consumed:
    """The prompt stream of a run: `digest` is that of its manifest, None where it recorded none."""

    method: str
    mixes: bool
    digest: Mapping[str, Any] | None


def broken(digest: object) -> bool:
    """Say whether this is no state of a StreamDigest."""
    if not isinstance(digest, Mapping) or not isinstance(digest.get("domains"), Mapping):
        return True
    streams = [digest.get("all"), *digest["domains"].values()]
    if not all(map(_is_stream, streams)):
        return True
    return bool(digest["all"]["count"] != sum(stream["count"] for stream in digest["domains"].values()))


def _is_stream(stream: object) -> bool:
    if not isinstance(stream, Mapping) or not isinstance(stream.get("digest"), str):
        return False
    count, every, marks = (stream.get(key) for key in ("count", "every", "marks"))
    if type(count) is not int or type(every) is not int or not isinstance(marks, list):
        return False
    return count >= 0 and every > 0 and every & (every - 1) == 0 and len(marks) == count // every


def stream_differences(runs: Sequence[Consumed]) -> list[str]:
    """Return how the streams of runs differ, and what of them cannot be compared; nothing where all agree.

    Runs that do not mix must have consumed the same stream. A run that mixes must agree with every other one on the
    common prefix of each domain. Each is compared with the longest stream before it, so that one which differs is
    named once.
    """
    found = [f"prompt stream: not recorded ({run.method})" for run in runs if not run.digest]
    known = [(run, run.digest) for run in runs if run.digest]
    plain = [(run.method, digest["all"]) for run, digest in known if not run.mixes]
    for other in plain[1:]:
        found += _differ("", plain[0], other, whole=True)
    mixing = {run.method for run, _ in known if run.mixes}
    if not mixing or len(known) < 2:
        return found
    compared: set[str] = set()
    for domain in sorted({name for _, digest in known for name in digest["domains"]}):
        streams = [(run.method, digest["domains"][domain]) for run, digest in known if domain in digest["domains"]]
        found += _domain_differences(domain, streams, mixing)
        compared |= {method for method, _ in streams} if len(streams) > 1 else set()
    return found + [f"prompt stream: no domain of {name} is in any other run" for name in sorted(mixing - compared)]


def _domain_differences(domain: str, streams: Sequence[_Named], mixing: Set[str]) -> list[str]:
    """Return how the streams of one domain differ; among runs that do not mix, the whole stream tells."""
    found, longest = [], streams[0]
    for other in streams[1:]:
        differing = _differ(f" of {domain}", longest, other) if {longest[0], other[0]} & mixing else []
        if not differing and other[1]["count"] > longest[1]["count"]:
            longest = other
        found += differing
    return found


def _differ(place: str, one: _Named, other: _Named, *, whole: bool = False) -> list[str]:
    """Return how two streams differ; `whole`: they must be equal, not only as far as both go."""
    (name, first), (also, second) = one, other
    same_length = first["count"] == second["count"]
    if same_length and first["digest"] == second["digest"]:
        return []
    agreed, compared = common_prefix(first, second)
    lengths = f"{first['count']} and {second['count']} prompts"
    if compared == 0:
        return [f"prompt stream{place}: nothing of {name} and {also} can be compared ({lengths}, no mark in common)"]
    if whole or same_length or agreed != compared:
        return [f"prompt stream{place}: {name} and {also} ({lengths}) agree on {agreed} of {compared} in common"]
    return []
