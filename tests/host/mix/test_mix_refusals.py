"""Bad input of a mixed run: one line and exit code 2, before anything starts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf
from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY

import dataflex_rl.plugin  # noqa: F401 (verl must have loaded it before our host modules are imported one by one)
from dataflex_rl.config.mixing import domains_in
from dataflex_rl.config.plain import plain
from dataflex_rl.errors import ConfigError
from dataflex_rl.host.mix_replay import MixReplayBuffer
from dataflex_rl.host.trainer import DataflexSyncTrainer
from dataflex_rl.host.validate import validate
from dataflex_rl.run import main
from tests.host.mix.composed import resolved, trainer


def refused(capsys: pytest.CaptureFixture[str], runs_dir: Path, *overrides: str) -> str:
    """Return the one line with which the command refuses."""
    assert main([f"runs_dir={runs_dir}", "dry_run=true", *overrides]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0]


def parquet(path: Path, domains: Sequence[str | None] | None, column: str = "domain") -> str:
    """Write train data with one prompt per domain given; None: without a domain column."""
    rows: list[dict[str, Any]] = [
        {"prompt": [{"role": "user", "content": f"q{i}"}], "data_source": "toy"} for i in range(len(domains or "ab"))
    ]
    for row, domain in zip(rows, domains or (), strict=False):
        row[column] = domain
    pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("method=reward_gap", "dataflex.mixer.params.floor=0.34"), "floor 0.34 for 3 domains (logic, math, science)"),
        (("method=tscl", "dataflex.mixer.params.temperature=0"), "mixer 'tscl': temperature must be above 0, got 0"),
        (
            ("method=static", "dataflex.mixer.params.proportions={math: 0.5, logic: 0.5, science: 0.5}"),
            "sum to 1.5, expected 1",
        ),
        (
            ("method=static", "dataflex.mixer.params.proportions={math: 0.5, logic: 0.4, chess: 0.1}"),
            "unknown domain 'chess'; known: logic, math, science",
        ),
        (("method=static", "dataflex.mixer.domains=[math,chess]"), "unknown domain 'chess'"),
        (("method=static", "dataflex.mixer.domains=[math]"), "needs two or more domains, got math"),
        (("method=static", "dataflex.mixer.domain_key=topic"), "no column 'topic' (dataflex.mixer.domain_key)"),
        (("method=tscl", "dataflex.mixer.window=1"), "dataflex.mixer.window=1 [steps], expected 2 or more"),
        (("method=dump_ucb", "dataflex.mixer.update_step=0"), "update_step must be an integer >= 1 [steps], got 0"),
        (("method=static", "dataflex.shadow=true"), "dataflex.shadow=true acts as uniform"),
        (
            ("method=static", "trainer.v1.trainer_mode=sync"),
            "needs trainer.v1.trainer_mode=dataflex_mix_sync, got sync",
        ),
        (("trainer.v1.trainer_mode=dataflex_mix_sync",), "trainer_mode=dataflex_mix_sync needs a mixer"),
        (("method=static", "algorithm.filter_groups.enable=true"), "algorithm.filter_groups.enable=true"),
        (
            (
                "method=static",
                "dataflex.mixer.scorer={name: group_solve}",
                "algorithm.adv_estimator=reinforce_plus_plus",
            ),
            "dataflex.mixer.scorer 'group_solve' needs groups",
        ),
    ],
)
def test_refused_before_anything_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, overrides: tuple[str, ...], message: str
) -> None:
    assert message in refused(capsys, tmp_path, *overrides)


def test_files_are_read_before_anything_starts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one = parquet(tmp_path / "one.parquet", ["math", "math"])
    bare = parquet(tmp_path / "bare.parquet", None)
    holes = parquet(tmp_path / "holes.parquet", ["math", None])
    for file, message in (
        (one, "needs two or more domains, got math"),
        (bare, "no column 'domain' (dataflex.mixer.domain_key); it has: prompt, data_source"),
        (holes, "column 'domain' (dataflex.mixer.domain_key) has rows without a value"),
    ):
        assert message in refused(capsys, tmp_path, "method=static", f"data.train_files={file}")


def test_domains_come_from_every_file_and_the_named_column(tmp_path: Path) -> None:
    files = [parquet(tmp_path / f"{i}.parquet", names, "topic") for i, names in enumerate((["x"], ["y", "x"]))]
    assert domains_in(files, "topic") == ["x", "y"]
    assert domains_in("build:toy3", "ability") == ["logic", "math", "science"]


@pytest.mark.parametrize("method", ["static", "reward_gap", "dump_ucb", "tscl"])
def test_a_method_chooses_the_trainer_that_mixes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, method: str
) -> None:
    config = resolved(tmp_path, f"method={method}")
    assert config.trainer.v1.trainer_mode == "dataflex_mix_sync"
    assert config.method_name == method
    validate(plain(config))
    assert main([f"runs_dir={tmp_path}", "dry_run=json", f"method={method}"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["method"], plan["mixer"], plan["actuator"]) == (method, method, "none")


def test_a_mixer_may_stand_in_the_actuator_and_beside_a_selector(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([f"runs_dir={tmp_path}", "dry_run=json", "dataflex.actuator.name=tscl"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["method"], plan["mixer"], plan["actuator"]) == ("tscl", "tscl", "none")
    both = ("scorer=group_solve", "actuator=difffilter", "mixer=reward_gap")
    assert main([f"runs_dir={tmp_path}", "dry_run=json", *both]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["method"], plan["mixer"], plan["actuator"]) == ("difffilter+reward_gap", "reward_gap", "difffilter")


# at mount, where verl's own entry point is used ---------------------------------------------------------------------


def test_one_trainer_has_two_names(tmp_path: Path) -> None:
    """A mixer acts under either name; the name that says a run mixes is refused where it does not."""
    assert TRAINER_REGISTRY["dataflex_sync"] is TRAINER_REGISTRY["dataflex_mix_sync"] is DataflexSyncTrainer
    mixed, plain = resolved(tmp_path, "method=static"), resolved(tmp_path)
    assert mixed.trainer.v1.trainer_mode == "dataflex_mix_sync"
    mixed.trainer.v1.trainer_mode = "dataflex_sync"
    assert type(DataflexSyncTrainer(mixed).replay_buffer) is MixReplayBuffer
    plain.trainer.v1.trainer_mode = "dataflex_mix_sync"
    with pytest.raises(ConfigError, match="trainer_mode=dataflex_mix_sync needs a mixer"):
        DataflexSyncTrainer(plain)


def test_a_batch_cut_in_parts_is_refused(tmp_path: Path) -> None:
    config = resolved(tmp_path, "method=static")
    OmegaConf.update(config, "trainer.v1.sync.parameter_sync_step", 2, force_add=True)
    with pytest.raises(ConfigError, match="parameter_sync_step=2 cuts a batch in parts"):
        DataflexSyncTrainer(config)


def test_data_without_the_domains_is_refused_at_mount(tmp_path: Path) -> None:
    config = resolved(tmp_path, "method=static")
    made = trainer(tmp_path, "method=static")
    config.data.train_files, config.actor_rollout_ref.model.path = (
        made.config.data.train_files,
        made.config.actor_rollout_ref.model.path,
    )
    config.data.val_files = made.config.data.val_files
    config.dataflex.mixer.domain_key = "topic"
    late = DataflexSyncTrainer(config)
    late._init_tokenizer()
    with pytest.raises(ConfigError, match="the training data has no column 'topic'"):
        late._init_dataloader()


def test_a_checkpoint_of_the_other_trainer_is_refused(tmp_path: Path) -> None:
    mixed, plain = trainer(tmp_path, "method=static"), trainer(tmp_path)
    with pytest.raises(ConfigError, match="has no mixer state"):
        mixed._load_state(plain._state(), tmp_path)
    with pytest.raises(ConfigError, match="is of a run with mixer 'static', but this run has none"):
        plain._load_state(mixed._state(), tmp_path)
    with pytest.raises(ConfigError, match="fingerprint"):
        mixed._load_state({**mixed._state(), "fingerprint": "0" * 16}, tmp_path)


def test_our_buffer_is_verls_custom_sampler(tmp_path: Path) -> None:
    named = ("pkg://dataflex_rl.host.mix_replay", "MixReplayBuffer")
    place = [
        f"trainer.v1.sampler.custom_sampler.{key}={value}" for key, value in zip(("path", "name"), named, strict=True)
    ]
    made = trainer(tmp_path, "method=static", "dataflex.mixer.oversample=2", *place)
    assert type(made.replay_buffer) is MixReplayBuffer
    assert made.replay_buffer.choose == made.feed.choose
    assert made.replay_buffer.on_validation == made._collect_items
    assert made.replay_buffer.poll_interval == 0.02
    other = [place[0].replace("mix_replay", "replay"), place[1].replace("Mix", "Ordered")]
    with pytest.raises(ConfigError, match=r"oversample=2.0 needs our replay buffer, but .* is OrderedReplayBuffer"):
        DataflexSyncTrainer(resolved(tmp_path, "method=static", "dataflex.mixer.oversample=2", *other))
