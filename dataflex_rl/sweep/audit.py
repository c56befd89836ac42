"""The pair audit: at every seed, do the methods differ in nothing but the method?

Compared are the finished records of one model, task and regime at one seed: budget, dataset, evaluation, the conditions
of the configuration (`dataflex_rl.record.pairs`) and the prompts consumed (`dataflex_rl.record.streams`). Over the
seeds, each method must be the same. Differences that the user allows by name are notes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RecordError
from dataflex_rl.record.config import ABSENT
from dataflex_rl.record.pairs import CONTROLS, conditions, is_allowed, kind_of
from dataflex_rl.sweep.finished import Finished, read_finished
from dataflex_rl.sweep.plan import Sweep
from dataflex_rl.sweep.streams import stream_differences

_READ = {**dict.fromkeys(("method", "model", "task", "regime", "mixer", "run_dir"), str), "seed": int, "steps": int}
_OF_SEED = (
    "seed", "data.seed", "actor_rollout_ref.actor.data_loader_seed", "actor_rollout_ref.rollout.seed",
    "critic.data_loader_seed",
)  # fmt: skip
_OF_REGIME = ("data.train_files", "dataset_fingerprint")  # a regime draws its data anew at every seed
Run = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What the audit found: `differences` make a pair unfair or cannot be compared, `incomplete` names runs that are
    not there, `notes` is what differs without touching the comparison by itself. `pairs` counts the compared pairs of
    runs, `planned` those of the plan.
    """

    planned: int
    pairs: int
    differences: tuple[str, ...]
    incomplete: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Whether pairs were compared and none differs."""
        return self.pairs > 0 and not self.differences

    @property
    def verdict(self) -> str:
        """The result on one line."""
        counts = f"{self.pairs} pairs compared, {len(self.differences)} differences"
        if self.pairs or self.differences:
            return f"{'clean' if self.clean else 'NOT clean'}; {counts}"
        why = "two methods are finished at no seed" if self.planned else "the plan has one method at each seed"
        return f"nothing to compare: {why}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {**asdict(self), "clean": self.clean, "verdict": self.verdict}


def audit(runs: Sequence[Run], allowed: Sequence[str] = ()) -> Audit:
    """Audit the runs of a plan. Only what is finished is compared; a record that cannot be read is a difference.

    Args:
        allowed: keys in which runs may differ, dotted, each with all below it.

    Raises:
        ConfigError: a run of the plan lacks a key.
    """
    for run in runs:
        if lacking := [key for key, kind in _READ.items() if type(run.get(key)) is not kind]:
            raise ConfigError(
                f"plan: the run at {run.get('run_dir')} lacks {', '.join(lacking)}; launch writes it anew"
            )
    pairs, differences, incomplete, notes = 0, [], [], []
    finished: dict[tuple[str, ...], list[Finished]] = defaultdict(list)
    groups = _grouped(runs)
    for (*campaign, seed), members in groups.items():
        place = f"{_name(campaign)}, seed {seed}"
        found, broken, missing = _read(members)
        finished[tuple(campaign)] += found
        pairs += max(len(found) - 1, 0)
        apart = _disagreements((f.method, f.facts) for f in found)
        streams = stream_differences([f.consumed for f in found])
        refused = [text for key, text in apart.items() if not is_allowed(key, allowed)]
        differences += [f"{place}: {text}" for text in [*broken, *refused, *streams]]
        incomplete += [f"{place}: {text}" for text in [*missing, *_without_control(members)]]
        notes += [f"{place}: {text} (allowed)" for key, text in apart.items() if is_allowed(key, allowed)]
        notes += [f"{place}: {text}" for text in _disagreements((f.method, f.notes) for f in found).values()]
    for key, found in finished.items():
        differences += [f"{_name(key)}: {text}" for text in _over_seeds(found)]
        notes += [f"{_name(key)}: {text}" for text in _seeds_apart(found)]
    planned = sum(len(members) - 1 for members in groups.values())
    return Audit(
        planned=planned, pairs=pairs, differences=tuple(differences), incomplete=tuple(incomplete), notes=tuple(notes)
    )


def planned_differences(sweep: Sweep) -> list[str]:
    """Return in what the methods of a plan differ besides the method, so that no run of them would be paired."""
    found = []
    for (*campaign, _), runs in _grouped([asdict(run) for run in sweep.runs if run.seed == sweep.runs[0].seed]).items():
        conditions_of = [(run["method"], conditions(sweep.plans[run["run_dir"]].settings)) for run in runs]
        differences = _disagreements(conditions_of).values()
        found += [f"not the method alone differs: {_name(campaign)}: {text}" for text in differences]
    return found


def _grouped(runs: Sequence[Run]) -> dict[tuple[Any, ...], list[Run]]:
    """Return the runs by model, task, regime and seed, the controls first in each."""
    groups: dict[tuple[Any, ...], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (*CONTROLS.values(), run["method"]).index(run["method"])):
        groups[(run["model"], run["task"], run["regime"], run["seed"])].append(run)
    return groups


def _name(campaign: Sequence[str]) -> str:
    model, task, regime = campaign
    return f"{model}-{task}{'' if regime == 'full' else f' {regime}'}"


def _read(members: Sequence[Run]) -> tuple[list[Finished], list[str], list[str]]:
    """Return the finished runs, what is broken of the others, and which are not there."""
    finished, broken, missing = [], [], []
    for run in members:
        try:
            read = read_finished(run)
        except (RecordError, OSError) as error:
            broken.append(f"{run['method']}: {error}")
            continue
        if read is None:
            missing.append(f"no finished run of {run['method']}")
        else:
            finished.append(read)
    return finished, broken, missing


def _disagreements(labelled: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return, by each key on which the labelled facts disagree, `key: value (labels), value (labels)`."""
    known = list(labelled)
    found = {}
    for key in dict.fromkeys(key for _, facts in known for key in facts):
        values: dict[str, list[str]] = defaultdict(list)
        for label, facts in known:
            values[json.dumps(facts[key], sort_keys=True) if key in facts else ABSENT].append(label)
        if len(values) > 1:
            found[key] = f"{key}: " + ", ".join(f"{value} ({', '.join(who)})" for value, who in values.items())
    return found


def _without_control(members: Sequence[Run]) -> list[str]:
    """Return the controls that the runs planned at one seed are compared with, but which are not among them."""
    present, found = {run["method"] for run in members}, []
    for kind, control in CONTROLS.items():
        users = [run["method"] for run in members if _kind(run) == kind]
        if users and control not in present:
            found.append(f"no run of the control {control} is planned beside {', '.join(users)}")
    return found


def _kind(run: Run) -> str | None:
    return kind_of(run.get("actuator"), run["mixer"], run.get("prompt_selector"))


def _over_seeds(found: Sequence[Finished]) -> list[str]:
    """Return in what a method is not the same at every seed."""
    methods: dict[str, list[Finished]] = defaultdict(list)
    for run in found:
        methods[run.method].append(run)
    return [
        f"{method}: {text}"
        for method, runs in methods.items()
        for text in _disagreements((f"seed {run.seed}", run.method_facts) for run in runs).values()
    ]


def _seeds_apart(found: Sequence[Finished]) -> list[str]:
    """Return what differs between the seeds besides the seed: each pair may be fair, their average mixes them."""
    firsts = {run.seed: run for run in reversed(found)}
    unseen = {*_OF_SEED, *(_OF_REGIME if any(run.facts["regime"] != "full" for run in found) else ())}
    apart = _disagreements(
        (f"seed {seed}", {key: value for key, value in run.facts.items() if key not in unseen})
        for seed, run in sorted(firsts.items())
    )
    return list(apart.values())
