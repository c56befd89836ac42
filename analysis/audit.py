"""The pairing audit: what may be compared with what, before any number is computed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.blocks import Block
from analysis.load.frame import Run
from analysis.options import Family, Options
from dataflex_rl.record import RecordError
from dataflex_rl.record.pairs import FIELD, differences, is_allowed
from dataflex_rl.record.streams import Agreement, compare_streams

_KINDS = {"mixers": "mixer", "prompts": "prompts"}  # family -> the kind of its runs
_SHOWN = 5  # differing keys named in a note
_ON_TRUST = (
    f"some records have neither {FIELD} in manifest.json nor config.yaml: that their runs differ in nothing but the "
    "method is taken on trust"
)


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

    `options.control` overrides all families. A method without its control is named in a note, not compared. Where two
    names of one family's control are both present, the one that pairs more runs is taken, and the note says so.
    """
    if options.control is not None:
        families: tuple[Family, ...] = (Family(name="all", controls=(options.control,)),)
    else:
        families = options.families
    return [m for family in families if (m := _match(block, family, families)) is not None]


def _match(block: Block, family: Family, families: tuple[Family, ...]) -> Match | None:
    present = [c for c in family.controls if c in block.methods]
    controls = {c for f in families for c in f.controls}
    methods = tuple(m for m in block.methods if m not in controls and _family_of(block, m, families) is family)
    if len(families) == 1 and family.methods is None:
        methods = tuple(m for m in block.methods if m not in present)
    if not methods:
        return None
    if not present:
        expected = " or ".join(family.controls)
        return Match(
            family=family.name,
            control=None,
            methods=methods,
            note=f"{block.name}: no control ({expected}): {', '.join(methods)} not compared; "
            f"the block has {', '.join(block.methods)}",
        )
    control, note = _choose(block, present, methods)
    return Match(family=family.name, control=control, methods=methods, note=note)


def _choose(block: Block, present: list[str], methods: tuple[str, ...]) -> tuple[str, str]:
    """Choose among a family's controls the one that pairs the most runs, the first of equals; a choice is said."""
    pairs = {c: sum((c, s) in block.runs for m in methods for s in block.seeds_of(m)) for c in present}
    control = max(present, key=lambda c: pairs[c])
    if len(present) == 1:
        return control, ""
    counted = " and ".join(f"{c} (pairs {pairs[c]} runs)" for c in present)
    return control, f"{block.name}: two controls, {counted}: paired with {control}; --control chooses another"


def _family_of(block: Block, method: str, families: tuple[Family, ...]) -> Family | None:
    """Give a method's family: the one that names it, else (from the record) mixers for a run that only mixes and
    prompts for one that only selects prompts, else the open one.
    """
    for family in families:
        if family.methods is not None and method in family.methods:
            return family
    kinds = {run.kind for (m, _), run in block.runs.items() if m == method}
    own = [f for f in families if f.name in _KINDS and kinds == {_KINDS[f.name]}]
    if own:
        return own[0]
    rest = [f for f in families if f.methods is None]
    return rest[0] if rest else None


@dataclass(frozen=True, kw_only=True)
class PairAudit:
    """Audit of one method against its control. `refused` are seeds whose pair does not stand, `problems` says why.

    `streams` and `conditions` are each "agree", "differ", "cannot be compared" or "not recorded": of the prompts (or
    "chosen by the run", by a prompt selector), and of the configurations without the method. `allowed` are the keys
    that differ and that the user has allowed.
    """

    seeds: tuple[int, ...]
    refused: tuple[int, ...]
    problems: tuple[str, ...]
    streams: str
    conditions: str = Agreement.UNRECORDED
    allowed: tuple[str, ...] = ()


def audit_pair(block: Block, family: str, method: str, control: str, options: Options) -> PairAudit:
    """Audit seeds, conditions, budget and prompt streams of one comparison.

    Seeds that only one side has are dropped by name. Runs that differ elsewhere than in their method are refused unless
    every differing key is allowed; streams are judged by `dataflex_rl.record.streams`.
    """
    ours, theirs = set(block.seeds_of(method)), set(block.seeds_of(control))
    problems = [f"{method}: seed {s} has no {control} run: dropped" for s in sorted(ours - theirs)]
    problems += [f"{method}: seed {s} is missing ({control} has it): dropped" for s in sorted(theirs - ours)]
    pairs = {s: (block.runs[(method, s)], block.runs[(control, s)]) for s in sorted(ours & theirs)}
    refused: set[int] = set()
    states: list[Agreement] = []
    for seed, (a, b) in pairs.items():
        state, why = compare_streams(
            *(r.manifest.get("prompt_stream_digest") for r in (a, b)),
            mixing=family == "mixers" or a.mixes or b.mixes or (a.stops_early and b.stops_early),
            choosing=a.selects or b.selects,
        )
        states.append(state)
        if found := [*why, *_budget(a, b)]:
            kept = options.mismatch == "flag"
            problems += [f"{method}, seed {seed}: {w}: {'kept, flagged' if kept else 'pair refused'}" for w in found]
            refused |= set() if kept else {seed}
    apart = {seed: _apart(a, b, options.allow_differences) for seed, (a, b) in pairs.items()}
    refused |= {seed for seed, found in apart.items() if found.refused}
    silent = [s for s, found in apart.items() if found.state is Agreement.UNRECORDED]
    if any(run.manifest for s in silent for run in pairs[s]):
        problems.append(_ON_TRUST)
    return PairAudit(
        seeds=tuple(s for s in pairs if s not in refused),
        refused=tuple(sorted(refused)),
        problems=(*problems, *_said(method, apart)),
        streams=_overall(states),
        conditions=_overall([found.state for found in apart.values()]),
        allowed=tuple(sorted({key for found in apart.values() for key in found.allowed})),
    )


def _overall(states: Sequence[Agreement]) -> Agreement:
    """Give the state of a comparison from those of its pairs: the worst that occurs; "agree" needs all of them."""
    worst = (Agreement.DIFFER, Agreement.INCOMPARABLE, Agreement.UNRECORDED, Agreement.CHOSEN)
    return next((s for s in worst if s in states), Agreement.AGREE if states else Agreement.UNRECORDED)


@dataclass(frozen=True, kw_only=True)
class _Apart:
    """In what the conditions of one pair differ: key -> "ours against theirs"."""

    state: Agreement
    refused: Mapping[str, str] = field(default_factory=dict)
    allowed: Mapping[str, str] = field(default_factory=dict)


def _apart(a: Run, b: Run, names: Sequence[str]) -> _Apart:
    try:
        found = differences(a.terms, b.terms)
    except RecordError as error:
        return _Apart(state=Agreement.INCOMPARABLE, refused={"configurations cannot be compared": f"({error})"})
    if found is None:
        return _Apart(state=Agreement.UNRECORDED)
    texts = {key: f"{_short(left)} against {_short(right)}" for key, (left, right) in found.items()}
    return _Apart(
        state=Agreement.DIFFER if texts else Agreement.AGREE,
        refused={key: text for key, text in texts.items() if not is_allowed(key, names)},
        allowed={key: text for key, text in texts.items() if is_allowed(key, names)},
    )


def _said(method: str, apart: Mapping[int, _Apart]) -> list[str]:
    """Say what differs besides the method, once for all seeds at which it is the same."""
    seeds: dict[str, list[int]] = {}
    for seed, found in apart.items():
        for kind, ending in ((found.refused, "pair refused"), (found.allowed, "kept, allowed")):
            if kind:
                parts = [f"{key} {text}" for key, text in kind.items()]
                more = f"; and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
                seeds.setdefault(f"{'; '.join(parts[:_SHOWN])}{more}: {ending}", []).append(seed)
    return [
        f"{method}, {'seed' if len(at) == 1 else 'seeds'} {', '.join(map(str, at))}: differs besides the method: {text}"
        for text, at in seeds.items()
    ]


def _budget(a: Run, b: Run) -> list[str]:
    """Compare what both runs were given: prompts (cost.json) and the dataset (manifest), where both record them."""
    found = []
    pairs = (
        *((("prompts", a.cost.get("prompts"), b.cost.get("prompts")),) if not a.stops_early else ()),
        *tuple((k, a.manifest.get(k), b.manifest.get(k)) for k in ("dataset_fingerprint",)),
    )
    for name, left, right in pairs:
        if left is not None and right is not None and left != right:
            found.append(f"{name} differ ({_short(left)} against {_short(right)})")
    return found


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 16 else text[:13] + "..."
