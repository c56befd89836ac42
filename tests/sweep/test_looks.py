"""A sweep with a design: what its looks ask for and decide, after any kill the same; what was fixed stays."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RunRecord, update_status, write_evaluation, write_manifest
from dataflex_rl.sweep import looks
from dataflex_rl.sweep.design import freeze, replay, split_design
from dataflex_rl.sweep.looks import Looks, asked_for, open_gate
from dataflex_rl.sweep.plan import Sweep
from dataflex_rl.sweep.store import RunState, Store
from tests.sweep import stubs

ARMS = ["good", "same"]
SETTINGS = {"name": "sequential", "margin": 1.5}
FAMILY = {"arms": ARMS, "control": "uniform"}
MEAN = {"good": 62.0, "same": 50.5, "uniform": 50.0}


def designed(folder: Path, settings: dict[str, object] = SETTINGS, family: dict[str, object] = FAMILY) -> Sweep:
    """Plan every run that a sequential design of two arms may ask for."""
    part = {**freeze(settings, family, [0, 1]), "family": family, "seeds": [0, 1]}
    runs = tuple(stubs.run(folder, method, seed) for method, seed in part["most"])
    return replace(
        stubs.sweep(folder, ["a"], 1), runs=runs, design={"settings": dict(settings), "families": {"policy": part}}
    )


def finish(sweep: Sweep, gate: Looks) -> dict[str, RunState]:
    """Finish every run that is asked for, as training would leave it: 200 items, 0.6 points from run to run."""
    for run in sweep.runs:
        record = RunRecord(Path(run.run_dir))
        if not gate.asks_for(run) or record.eval.exists():
            continue
        record.create()
        rng = np.random.default_rng(run.seed)
        correct = round(2 * (MEAN[run.method] + rng.normal(0, 0.6)))
        items = [
            {"phase": "trained", "benchmark": "math", "domain": "math", "item": f"i{n}", "correct": n < correct,
             "pred": "", "gold": "", "tokens": 1, "truncated": False}
            for n in range(200)
        ]  # fmt: skip
        write_evaluation(record, items, steps=1)
        names = {"method": run.method, "seed": run.seed, "model": "m", "task": "t", "regime": "full", "steps": 1}
        write_manifest(record, sweep="s", scorer="none", actuator=run.method, mixer="none", host="cpu", config_hash="c",
                       dataset_fingerprint="d", evaluation_digest="e", git_revision=None, **names)  # fmt: skip
        update_status(record, state="done", attempts=1, step=1, steps=1)
    return states(sweep)


def states(sweep: Sweep) -> dict[str, RunState]:
    """Say of each run whether it is done."""
    done = {run.run_dir: RunRecord(Path(run.run_dir)).eval.exists() for run in sweep.runs}
    return {run_dir: RunState(state="done" if there else "waiting") for run_dir, there in done.items()}


def decisions(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((store.path / "looks").glob("policy-?.json"))}


def asked(sweep: Sweep, gate: Looks) -> dict[str, int]:
    return {m: sum(gate.asks_for(run) for run in sweep.runs if run.method == m) for m in ("uniform", *ARMS)}


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    return designed(tmp_path / "s")


def test_a_decided_arm_stops_and_controls_go_on(sweep: Sweep) -> None:
    store = Store(sweep.folder).create()
    gate = open_gate(sweep, store)
    assert isinstance(gate, Looks)
    assert asked(sweep, gate) == {"uniform": 6, "good": 4, "same": 4}  # round(sqrt(2) * 4) = 6
    assert gate.advance(states(sweep)) == []
    said = gate.advance(finish(sweep, gate))
    assert len(said) == 2
    assert said[0].startswith("look 1, policy: good is superior to uniform: +")
    assert decisions(store).keys() == {"policy-1.json"}
    assert said[1].startswith("look 1, policy: same against uniform is open: +")
    assert asked(sweep, gate) == {"uniform": 8, "good": 0, "same": 6}
    plain = [{"method": run.method, "seed": run.seed} for run in sweep.runs]
    assert len(asked_for(store, plain)) == 8 + 4 + 6
    said = gate.advance(finish(sweep, gate))
    assert said[0].startswith("look 2, policy: good is superior to uniform: +")  # as it was at look 1
    assert "at look 1 of 3 (4 runs against 6 of uniform)" in said[0]
    gate.advance(finish(sweep, gate))
    assert gate.advance(finish(sweep, gate)) == []
    assert asked(sweep, gate) == {"uniform": 0, "good": 0, "same": 0}


def test_after_any_kill_the_decisions_are_the_same(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(sweep.folder).create()
    gate = open_gate(sweep, store)
    run_states = finish(sweep, gate)  # type: ignore[arg-type]
    lost = next(run.run_dir for run in sweep.runs if (run.method, run.seed) == ("same", 3))
    run_states[lost] = RunState(state="failed")
    write = looks.write_json

    def killed(path: Path, value: object) -> None:  # after the runs are written, before the decisions are
        if path.name == "policy-1.json":
            (path.parent / f".{path.name}.x.tmp").write_text(
                json.dumps(value)[:40]
            )  # as a kill in the middle leaves it
            raise KeyboardInterrupt
        write(path, value)

    monkeypatch.setattr(looks, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        gate.advance(run_states)
    assert decisions(store) == {}
    monkeypatch.setattr(looks, "write_json", write)
    # Launched again, the failed run is done by now: the look decides from what it saw.
    again = open_gate(sweep, store)
    again.advance(states(sweep))
    first = decisions(store)["policy-1.json"]
    assert {d["arm"]: d["n"] for d in json.loads(first)["decisions"]} == {"good": 4, "same": 3}
    # Killed after it: nothing is decided anew, and a run that a look saw as failed is not asked for again.
    third = open_gate(sweep, store)
    third.advance(states(sweep))
    assert decisions(store)["policy-1.json"] == first
    assert not any(third.asks_for(run) for run in sweep.runs if run.run_dir == lost)
    # The file of decisions lost with a kill: the same bytes again.
    (store.path / "looks" / "policy-1.json").unlink()
    open_gate(sweep, store).advance(states(sweep))
    assert decisions(store)["policy-1.json"] == first


@pytest.mark.parametrize(
    ("settings", "family", "says"),
    [
        ({**SETTINGS, "margin": 1.0}, FAMILY, "design.margin: 1.5 became 1.0"),
        ({**SETTINGS, "score": "mean:3"}, FAMILY, "'domain_balanced last' became 'domain_balanced mean:3'"),
        ({**SETTINGS, "name": "screen"}, FAMILY, "design.name: 'sequential' became 'screen'"),
        (SETTINGS, {**FAMILY, "arms": [*ARMS, "new"]}, "arms: ['good', 'same'] became ['good', 'same', 'new']"),
    ],
)
def test_what_was_fixed_cannot_change(sweep: Sweep, settings: dict, family: dict, says: str) -> None:
    store = Store(sweep.folder).create()
    open_gate(sweep, store)
    with pytest.raises(ConfigError) as caught:
        open_gate(designed(sweep.folder, settings, family), store)
    assert says in str(caught.value)
    assert "that is a new study" in str(caught.value)
    open_gate(sweep, store)


def test_an_edited_boundary_and_a_design_that_comes_or_goes_are_refused(sweep: Sweep) -> None:
    store = Store(sweep.folder).create()
    open_gate(sweep, store)
    kept = json.loads((store.path / "design.json").read_text())
    kept["families"]["policy"]["protocol"]["bounds"]["one_J"][0] = 1.0
    (store.path / "design.json").write_text(json.dumps(kept))
    with pytest.raises(ConfigError, match="is not that of its fields: it was edited"):
        open_gate(sweep, store)
    with pytest.raises(ConfigError, match="was started with design=sequential; give it again"):
        open_gate(replace(sweep, design=None), store)
    (store.path / "design.json").unlink()
    Path(sweep.runs[0].run_dir).mkdir(parents=True)
    Path(sweep.runs[0].run_dir, "metrics.jsonl").touch()
    with pytest.raises(ConfigError, match="has runs already"):
        open_gate(sweep, store)


def test_a_replay_says_what_the_analysis_says(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert replay(tmp_path, {"name": "screen"}, as_json=True) == 2
    assert "no run record" in capfd.readouterr().err
    with pytest.raises(ConfigError, match=r"replay takes no design\.beta"):
        replay(tmp_path, {"beta": 0.1}, as_json=False)


def test_settings_of_a_design() -> None:
    block = {"name": "screen", "margin": 2}
    assert split_design(block, ["design=sequential", "seed=0-3", "design.beta=0.1"]) == (
        {"name": "sequential", "margin": 2, "beta": 0.1},
        ["seed=0-3"],
    )
    assert split_design({}, ["seed=0"]) == ({}, ["seed=0"])
    with pytest.raises(ConfigError, match="expected one of fixed, sequential, screen"):
        split_design({}, ["design=bayes"])
    with pytest.raises(ConfigError, match="design setting"):
        split_design(block, ["design.sigmas=1"])
