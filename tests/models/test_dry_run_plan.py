"""What `dry_run` shows beyond names and counts: what is still to be made, what the user changed, what will not fit."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest
from omegaconf import OmegaConf

from dataflex_rl.config import memory
from dataflex_rl.config.compose import changed, chosen
from dataflex_rl.config.memory import memory_warnings, parameters_of
from dataflex_rl.data.tasks.items import Item, write_items
from dataflex_rl.run import main

ITEM = Item(source="gsm8k", domain="math", item_id="a", question="1+1?", gold="2")
GIB = 2**30


def plan(folder: Path, capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main([f"runs_dir={folder}/runs", "dry_run=json", *arguments]) == 0
    return dict(json.loads(capfd.readouterr().out))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DATAFLEX_RL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_only_what_is_missing_is_to_be_prepared(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ("task=multidomain3", "benchmark=paper12", "model=qwen2_5_7b", "host=gpu8")
    assert plan(root, capfd, *arguments)["to_prepare"] == ["prepared:multidomain3", "prepared:paper12"]
    for split in ("train", "val"):
        write_items([ITEM], root / "data" / "multidomain3" / f"{split}.parquet", split=split)
    assert plan(root, capfd, *arguments)["to_prepare"] == ["prepared:paper12"]
    write_items([ITEM], root / "data" / "paper12" / "test.parquet", split="test")
    assert plan(root, capfd, *arguments)["to_prepare"] == []


def test_the_table_says_how_to_prepare_what_is_missing(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main([f"runs_dir={root}/runs", "dry_run=true", "task=multidomain3", "benchmark=paper12"])
    shown = " ".join(capfd.readouterr().out.replace("│", " ").split())
    assert "prepared:multidomain3: python -m dataflex_rl.prepare task=multidomain3" in shown
    assert "prepared:paper12: python -m dataflex_rl.prepare benchmark=paper12" in shown
    assert "tiny: built when the run starts" in shown


def test_the_plan_names_benchmark_and_gpus(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = plan(root, capfd, "task=multidomain3", "benchmark=paper12", "model=qwen2_5_7b", "host=gpu8x2")
    assert (found["benchmark"], found["gpus"]) == ("paper12", 16)


def test_steps_is_refused_with_the_key_that_counts(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([f"runs_dir={root}/runs", "dry_run=true", "steps=2"]) == 2
    assert "steps=2: it repeats trainer.total_training_steps=60; set that one" in capfd.readouterr().err


def test_what_prepare_makes_of_text12_is_what_a_run_reads(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from dataflex_rl.prepare import main as prepare

    assert plan(root, capfd, "benchmark=text12")["to_prepare"] == ["text12", "tiny", "toy3"]
    assert prepare(["benchmark=text12"]) == 0
    capfd.readouterr()
    assert plan(root, capfd, "benchmark=text12")["to_prepare"] == ["tiny", "toy3"]


def test_the_settings_that_the_user_gave_are_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given = ["actor_rollout_ref.actor.optim.lr=1e-4", "dataflex.actuator.params.low=0.1"]
    assert plan(tmp_path, capfd, "method=difffilter", "seed=3", *given)["changed"] == given
    assert main([f"runs_dir={tmp_path}/runs", "dry_run=true", "method=difffilter", *given]) == 0
    table = " ".join(capfd.readouterr().out.split())
    assert "changed" in table
    assert "actor_rollout_ref.actor.optim.lr=1e-4" in table


def test_groups_and_places_are_no_changes() -> None:
    assert changed(["method=per", "seed=1", "runs_dir=a.b", "+data.x=3", "~data.y", "--config-dir=a.b"]) == [
        "+data.x=3", "~data.y"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], False),
        (["runs_dir=runs", "seed=0"], False),
        (["method=uniform"], True),
        (["seed=0", "dataflex.scorer.name=reward"], True),
    ],
)
def test_whether_anything_was_chosen(arguments: list[str], expected: bool) -> None:
    assert chosen(arguments) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Qwen/Qwen2.5-7B", 7e9),
        ("Qwen/Qwen2.5-1.5B-Instruct", 1.5e9),
        ("meta-llama/Llama-3.1-8B", 8e9),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", 135e6),
        ("build:tiny", None),
        ("gpt2", None),
    ],
)
def test_a_name_states_the_size(path: str, expected: float | None) -> None:
    assert parameters_of(path) == expected


@pytest.mark.parametrize(("dtype", "expected"), [("bfloat16", 1500.0), ("float32", 750.0)])
def test_the_weights_of_a_folder_are_its_size(tmp_path: Path, dtype: str, expected: float) -> None:
    folder = tmp_path / "a-70B"  # the weights count, not the name
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"dtype": dtype}))
    (folder / "model-1.safetensors").write_bytes(bytes(1000))
    (folder / "model-2.safetensors").write_bytes(bytes(2000))
    assert parameters_of(str(folder)) == expected


def test_a_model_that_does_not_fit_is_a_warning_with_both_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """7e9 x (weight 4 + gradient 4 + moments 8 + server 4) bytes are 130.4 GiB; with a reference model (4) 156.5."""
    config = OmegaConf.create(
        {
            "host": {"name": "cpu"},
            "trainer": {"device": "cpu"},
            "algorithm": {"use_kl_in_reward": False},
            "actor_rollout_ref": {"model": {"path": "Qwen/Qwen2.5-7B"}, "actor": {"use_kl_loss": False}},
        }
    )
    monkeypatch.setattr(memory, "machine_memory", lambda: 24.0 * GIB)
    said = "host=cpu: training 7 billion parameters (Qwen/Qwen2.5-7B) in float32 needs about"
    assert memory_warnings(config) == [f"{said} 130 GiB, this machine has 24 GiB"]
    config.actor_rollout_ref.actor.use_kl_loss = True
    assert memory_warnings(config) == [f"{said} 156 GiB, this machine has 24 GiB"]
    monkeypatch.setattr(memory, "machine_memory", lambda: 157.0 * GIB)
    assert memory_warnings(config) == []
    monkeypatch.undo()
    config.trainer.device = "cuda"
    assert memory_warnings(config) == []


def test_the_machine_has_at_most_its_memory() -> None:
    assert 0 < memory.machine_memory() <= psutil.virtual_memory().total


def test_a_large_model_on_the_cpu_is_warned_of_and_not_refused(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = plan(root, capfd, "model=qwen2_5_14b", "host=cpu", "task=text3")["warnings"]
    needed = 14e9 * 20 / GIB
    expected = 1 if needed > memory.machine_memory() / GIB else 0
    assert isinstance(lines, list)
    assert len(lines) == expected
    assert plan(root, capfd, "model=qwen2_5_14b", "host=gpu8", "task=text3")["warnings"] == []
