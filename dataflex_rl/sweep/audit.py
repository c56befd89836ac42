"""The pair audit: at every seed, do the methods differ in nothing but the method?

Compared are the finished records of one model, task and regime at one seed: budget, dataset, evaluation, every key of
the configuration that does not belong to the method, and the prompts consumed. Runs that do not mix consumed the same
stream; where one mixes, its domains agree with the others' on their common prefix.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from dataflex_rl.attempt import VOLATILE
from dataflex_rl.record import RecordError, RunRecord, config_diff, read_json, read_manifest
from dataflex_rl.seeding import common_prefix

METHOD_KEYS = (  # what a method may set, and where its name goes
    "dataflex", "method_name", "trainer.v1.trainer_mode", "actor_rollout_ref.rollout.trace",
)  # fmt: skip
_SAME = ("model", "task", "regime", "seed", "steps", "host", "dataset_fingerprint", "evaluation_digest")
_NOTED = ("versions", "git_revision")
_CONTROLS = ("uniform", "static")


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What the audit found: `differences` make a pair unfair, `incomplete` names runs that are not there, `notes` is
    what differs without touching the comparison by itself. `pairs` counts the compared pairs of runs.
    """

    pairs: int
    differences: tuple[str, ...]
    incomplete: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Whether pairs were compared and none differs."""
        return self.pairs > 0 and not self.differences

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {**asdict(self), "clean": self.clean}


@dataclass(frozen=True, kw_only=True)
class _Finished:
    """The parts of a finished record that are compared."""

    method: str
    mixes: bool
    manifest: Mapping[str, Any]
    cost: Mapping[str, Any]
    config: Mapping[str, Any]


def audit(runs: Sequence[Mapping[str, Any]]) -> Audit:
    """Audit the runs of a plan; read are method, seed, model, task, regime, mixer, run_dir.

    Only what is finished is compared. A record that cannot be read is a difference.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for run in runs:
        groups[(run["model"], run["task"], run["regime"], run["seed"])].append(run)
    pairs, differences, incomplete, notes = 0, [], [], []
    for (model, task, regime, seed), members in groups.items():
        place = f"{model}-{task}{'' if regime == 'full' else f' {regime}'}, seed {seed}"
        finished = []
        for run in members:
            try:
                read = _read(run)
            except (RecordError, OSError) as error:
                differences.append(f"{place}: {run['method']}: {error}")
                continue
            if read is None:
                incomplete.append(f"{place}: no finished run of {run['method']}")
            else:
                finished.append(read)
        if len(finished) > 1:
            pairs += len(finished) - 1
            differences += [f"{place}: {text}" for text in _compare(finished)]
            notes += [f"{place}: {text}" for text in _by_value(finished, _NOTED, "manifest")]
    return Audit(pairs=pairs, differences=tuple(differences), incomplete=tuple(incomplete), notes=tuple(notes))


def _read(run: Mapping[str, Any]) -> _Finished | None:
    """Return what is compared of a run, None if it is not done."""
    record = RunRecord(Path(run["run_dir"]))
    status = read_json(record.status)
    manifest = read_manifest(record)
    if status is None or status.get("state") != "done" or manifest is None:
        return None
    return _Finished(
        method=str(run["method"]),
        mixes=run["mixer"] != "none",
        manifest=manifest,
        cost=read_json(record.cost) or {},
        config=_config(record),
    )


def _config(record: RunRecord) -> dict[str, Any]:
    """Return a record's configuration, read by the fast reader where there is one."""
    try:
        value = yaml.load(
            record.config.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
    except yaml.YAMLError as error:
        raise RecordError(f"run record: {record.config} is no configuration ({' '.join(str(error).split())})") from None
    return value if isinstance(value, dict) else {}


def _compare(finished: Sequence[_Finished]) -> list[str]:
    """Return what differs among the methods of one seed."""
    control = next((f for name in _CONTROLS for f in finished if f.method == name), finished[0])
    found = _by_value(finished, _SAME, "manifest") + _by_value(finished, ("prompts",), "cost")
    ignored = (*VOLATILE, *METHOD_KEYS)
    for other in finished:
        if other is not control:
            found += [
                f"{key}: {json.dumps(old)} ({control.method}) against {json.dumps(new)} ({other.method})"
                for key, old, new in config_diff(control.config, other.config, ignored)
            ]
            found += _streams(control, other)
    return found


def _by_value(finished: Sequence[_Finished], keys: Sequence[str], part: str) -> list[str]:
    """Return, for each key on which the methods disagree, `key: value (methods), value (methods)`."""
    found = []
    for key in keys:
        methods: dict[str, list[str]] = defaultdict(list)
        for run in finished:
            methods[json.dumps(getattr(run, part).get(key), sort_keys=True)].append(run.method)
        if len(methods) > 1:
            found.append(f"{key}: " + ", ".join(f"{value} ({', '.join(who)})" for value, who in methods.items()))
    return found


def _streams(control: _Finished, other: _Finished) -> list[str]:
    """Return how the prompts that two runs consumed differ."""
    one, two = (run.manifest.get("prompt_stream_digest") for run in (control, other))
    if not one or not two:
        lacking = ", ".join(run.method for run, digest in ((control, one), (other, two)) if not digest)
        return [f"prompt stream: not recorded ({lacking})"]
    names = f"{control.method} and {other.method}"
    if not (control.mixes or other.mixes):
        if (one["all"]["digest"], one["all"]["count"]) == (two["all"]["digest"], two["all"]["count"]):
            return []
        agreed, compared = common_prefix(one["all"], two["all"])
        return [f"prompt stream: {names} agree on {agreed} of {compared} prompts"]
    found = []
    for domain in sorted(set(one["domains"]) & set(two["domains"])):
        agreed, compared = common_prefix(one["domains"][domain], two["domains"][domain])
        if agreed != compared:
            found.append(f"prompt stream of {domain}: {names} agree on {agreed} of {compared} prompts in common")
    return found
