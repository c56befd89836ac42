"""The prompts that runs of one seed consumed: equal in order, or per domain where a run mixes domains.

Those of a run with a prompt selector are its own choice, and compared with none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from dataflex_rl.record.streams import Agreement, compare_stream

_Named = tuple[str, Mapping[str, Any]]  # a method and one of its streams


@dataclass(frozen=True, kw_only=True)
class Consumed:
    """The prompt stream of a run: `digest` is that of its manifest, None where it recorded none; `selects`: by a prompt
    selector.
    """

    method: str
    mixes: bool
    selects: bool = False
    digest: Mapping[str, Any] | None


def stream_differences(runs: Sequence[Consumed]) -> list[str]:
    """Return how the streams of runs differ, and what of them cannot be compared; nothing where all agree.

    Runs that do not mix must have consumed the same stream. A run that mixes must agree with every other one on the
    common prefix of each domain. Each is compared with the longest stream before it, so that one which differs is
    named once.
    """
    found = [f"prompt stream: not recorded ({run.method})" for run in runs if not run.digest]
    known = [(run, run.digest) for run in runs if run.digest and not run.selects]
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
    """Return how two streams differ, or that they cannot be compared; `whole`: they must be equal."""
    (name, first), (also, second) = one, other
    answer, why = compare_stream(first, second, whole=whole)
    return [] if answer is Agreement.AGREE else [f"prompt stream{place}: {name} and {also} {why}"]
