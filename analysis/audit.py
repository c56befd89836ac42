"""The pairing audit: what may be compared with what, before any number is computed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.blocks import Block
from analysis.errors import AnalysisError
from analysis.load.frame import Run
from analysis.options import Family, Options


@dataclass(frozen=True, kw_only=True)
class Match:
    """One family inside one block: the control found, and the methods compared with it. control None: nothing to
    compare.
    """

    family: str
    control: str | None
    methods: tuple[str, ...]
    note: str = ""


def match(block: Block, options: Options) -> list[Match]:
    """Find each family's control by name and give every method of the block its control.

    `options.control` overrides all families. A method without its control is named in a note, not compared. Raises
    AnalysisError when two names of one family's control are both present.
    """
    if options.control is not None:
        families: tuple[Family, ...] = (Family(name="all", controls=(options.control,)),)
    else:
        families = options.families
    return [m for family in families if (m := _match(block, family, families)) is not None]


def _match(block: Block, family: Family, families: tuple[Family, ...]) -> Match | None:
    present = [c for c in family.controls if c in block.methods]
    if len(present) > 1:
        raise AnalysisError(f"{block.name}: two controls, {' and '.join(present)}; choose one with --control")
    controls = {c for f in families for c in f.controls}
    methods = tuple(m for m in block.methods if m not in controls and _family_of(block, m, families) is family)
    if len(families) == 1 and family.methods is None:
        methods = tuple(m for m in block.methods if m not in present)
    if not methods:
        return None
    if not present:
        wanted = " or ".join(family.controls)
        return Match(
            family=family.name,
            control=None,
            methods=methods,
            note=f"{block.name}: no control ({wanted}): {', '.join(methods)} not compared; "
            f"the block has {', '.join(block.methods)}",
        )
    return Match(family=family.name, control=present[0], methods=methods)


def _family_of(block: Block, method: str, families: tuple[Family, ...]) -> Family | None:
    """Give a method's family: the one that names it, else (from the record) mixers for a run that only mixes, else
    the open one.
    """
    for family in families:
        if family.methods is not None and method in family.methods:
            return family
    kinds = {run.kind for (m, _), run in block.runs.items() if m == method}
    mixers = [f for f in families if f.name == "mixers"]
    if kinds == {"mixer"} and mixers:
        return mixers[0]
    rest = [f for f in families if f.methods is None]
    return rest[0] if rest else None


@dataclass(frozen=True, kw_only=True)
class PairAudit:
    """Audit of one method against its control. `refused` are seeds whose pair does not stand, `problems` says why."""

    seeds: tuple[int, ...]
    refused: tuple[int, ...]
    problems: tuple[str, ...]
    streams: str


def audit_pair(block: Block, family: str, method: str, control: str, options: Options) -> PairAudit:
    """Audit seeds, budget and prompt streams of one comparison.

    Seeds that only one side has are dropped by name. Select/reweight pairs must have consumed the same stream, mixers
    the same common prefix per domain. `streams` is "agree", "differ" or "not recorded".
    """
    ours, theirs = set(block.seeds_of(method)), set(block.seeds_of(control))
    problems = [f"{method}: seed {s} has no {control} run: dropped" for s in sorted(ours - theirs)]
    problems += [f"{method}: seed {s} is missing ({control} has it): dropped" for s in sorted(theirs - ours)]
    refused, states = [], set()
    for seed in sorted(ours & theirs):
        a, b = block.runs[(method, seed)], block.runs[(control, seed)]
        state, why = compare_streams(a, b, per_domain=family == "mixers" or mixes(a) or mixes(b))
        states.add(state)
        found = [*why, *_budget(a, b)]
        if found:
            kept = options.mismatch == "flag"
            problems += [f"{method}, seed {seed}: {w}: {'kept, flagged' if kept else 'pair refused'}" for w in found]
            refused += [] if kept else [seed]
    streams = "differ" if "differ" in states else "agree" if states == {"agree"} else "not recorded"
    return PairAudit(
        seeds=tuple(sorted((ours & theirs) - set(refused))),
        refused=tuple(refused),
        problems=tuple(problems),
        streams=streams,
    )


def mixes(run: Run) -> bool:
    """Say whether a run's record names a mixer: its prompts then depend on its shares."""
    mixer = run.manifest.get("mixer")
    name = mixer.get("name") if isinstance(mixer, dict) else mixer
    return name not in (None, "none")


def _budget(a: Run, b: Run) -> list[str]:
    """Compare what both runs were given: prompts (cost.json) and the dataset (manifest), where both record them."""
    found = []
    pairs = (
        ("prompts", a.cost.get("prompts"), b.cost.get("prompts")),
        *tuple((k, a.manifest.get(k), b.manifest.get(k)) for k in ("dataset_fingerprint",)),
    )
    for name, left, right in pairs:
        if left is not None and right is not None and left != right:
            found.append(f"{name} differ ({_short(left)} against {_short(right)})")
    return found


def compare_streams(a: Run, b: Run, *, per_domain: bool) -> tuple[str, list[str]]:
    """Compare two recorded prompt streams: ("agree" | "differ" | "not recorded", reasons).

    Recorded is a digest, or {"all": stream, "domains": {name: stream}} with stream = {"count", "digest", "every",
    "marks"}, mark i being the digest after (i + 1) * every prompts.
    """
    left, right = (r.manifest.get("prompt_stream_digest") for r in (a, b))
    if not left or not right:
        return "not recorded", []
    if isinstance(left, str) or isinstance(right, str):
        if per_domain:
            return "not recorded", []
        return ("agree", []) if left == right else ("differ", ["prompt streams differ"])
    if not per_domain:
        same = left["all"]["digest"] == right["all"]["digest"]
        return ("agree", []) if same else ("differ", ["prompt streams differ"])
    shared = sorted(set(left["domains"]) & set(right["domains"]))
    differing = [d for d in shared if not same_prefix(left["domains"][d], right["domains"][d])]
    if differing:
        return "differ", [f"prompt streams of {', '.join(differing)} differ within their common prefix"]
    return ("agree" if shared else "not recorded"), []


def same_prefix(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Say whether two streams agree on their longest common mark (equal digests where equally long)."""
    if a["count"] == b["count"]:
        return bool(a["digest"] == b["digest"])
    marks_a, marks_b = _marks(a), _marks(b)
    common = max(set(marks_a) & set(marks_b), default=None)
    return common is None or marks_a[common] == marks_b[common]


def _marks(stream: Mapping[str, Any]) -> dict[int, str]:
    marks = {(i + 1) * stream["every"]: mark for i, mark in enumerate(stream["marks"])}
    return marks | {stream["count"]: stream["digest"]}


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 16 else text[:13] + "..."
