"""Did two runs see the same prompts? One answer for every audit, from the digests in their manifests.

A manifest records {"all": stream, "domains": {name: stream}}; a stream is {"count": prompts, "digest": 16 hex, "every":
prompts per mark, "marks": [16 hex, ...]}, mark i being the digest after (i + 1) * every prompts (see
`dataflex_rl.seeding.StreamDigest`). The rule:

- Two runs that do not mix must have consumed the same stream: as many prompts, the same digest over all.
- If either mixes, each domain that both consumed is compared as far as both went, up to the longest mark that both
  have. Two streams of one length are compared whole.
- A domain in which no mark is common (600 prompts, marked at every fourth, against 3) cannot be compared, and so can
  two runs without a common domain. That is neither agreement nor difference, and nobody may take it for agreement.
- A run with a prompt selector draws other prompts of the same data by design: its stream is compared with none
  (`CHOSEN`), the data are, by their fingerprint.
- Where one run recorded no stream there is nothing to compare: `UNRECORDED`. Records of this package always have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

Stream = Mapping[str, Any]


class Agreement(StrEnum):
    """What comparing two prompt streams came to."""

    AGREE = "agree"
    DIFFER = "differ"
    INCOMPARABLE = "cannot be compared"
    UNRECORDED = "not recorded"
    CHOSEN = "chosen by the run"


def compare_streams(one: Any, other: Any, *, mixing: bool, choosing: bool = False) -> tuple[Agreement, list[str]]:
    """Compare the `prompt_stream_digest` of two manifests; returns the answer and, unless they agree, why.

    Args:
        one, other: as in the manifest; a digest alone (16 hex) where a source has no more.
        mixing: one of the runs has a mixer.
        choosing: one of the runs has a prompt selector.
    """
    if not one or not other:
        return Agreement.UNRECORDED, []
    if choosing:
        return Agreement.CHOSEN, []
    if isinstance(one, str) or isinstance(other, str):
        if mixing:
            return Agreement.UNRECORDED, []
        return (Agreement.AGREE, []) if one == other else (Agreement.DIFFER, ["prompt streams: the digests differ"])
    if is_broken(one) or is_broken(other):
        return Agreement.INCOMPARABLE, ["prompt streams: a prompt_stream_digest is broken"]
    if not mixing:
        found = [(compare_stream(one["all"], other["all"], whole=True), "prompt streams")]
    else:
        shared = sorted(set(one["domains"]) & set(other["domains"]))
        if not shared:
            return Agreement.INCOMPARABLE, ["prompt streams: the two have no domain in common"]
        pairs = ((name, one["domains"][name], other["domains"][name]) for name in shared)
        found = [(compare_stream(a, b), f"prompt streams of {name}") for name, a, b in pairs]
    reasons = [f"{what}: the two {why}" for (answer, why), what in found if answer is not Agreement.AGREE]
    answers = {answer for (answer, _), _ in found}
    for worst in (Agreement.DIFFER, Agreement.INCOMPARABLE):
        if worst in answers:
            return worst, reasons
    return Agreement.AGREE, []


def compare_stream(one: Stream, other: Stream, *, whole: bool = False) -> tuple[Agreement, str]:
    """Compare two streams, as far as both go or, with `whole`, in full; returns the answer and, unless they agree, why.

    The reason reads on from two names: "(4 and 2 prompts) agree on 1 of 2 in common".
    """
    same_length = one["count"] == other["count"]
    if same_length and one["digest"] == other["digest"]:
        return Agreement.AGREE, ""
    agreed, compared = common_prefix(one, other)
    lengths = f"({one['count']} and {other['count']} prompts)"
    if compared == 0 and not whole:
        return Agreement.INCOMPARABLE, f"{lengths} have no mark in common and cannot be compared"
    if whole or same_length or agreed != compared:
        return Agreement.DIFFER, f"{lengths} agree on {agreed} of {compared} in common"
    return Agreement.AGREE, ""


def common_prefix(one: Stream, other: Stream) -> tuple[int, int]:
    """Compare two streams on their common prefix.

    Returns:
        (agreed, compared), in prompts: the longest common mark at which both agree, and the longest there is. The
        prefix agrees where the two are equal; (0, 0) if one stream is empty.
    """
    if one["count"] == other["count"] and one["digest"] == other["digest"]:
        return int(one["count"]), int(one["count"])
    step = max(int(one["every"]), int(other["every"]))
    marks = [_marks_at(stream, step) for stream in (one, other)]
    pairs = list(zip(*marks, strict=False))  # the shorter stream ends the comparison
    agreed = sum(a == b for a, b in pairs)  # chained: once different, different for ever
    return agreed * step, len(pairs) * step


def _marks_at(stream: Stream, step: int) -> list[str]:
    """Return the marks of a stream at every `step` prompts; step is a multiple of its own spacing."""
    assert step % stream["every"] == 0, f"spacings are powers of two: {stream['every']}, {step}"
    stride = step // stream["every"]
    return list(stream["marks"][stride - 1 :: stride])


def is_broken(digest: object) -> bool:
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
