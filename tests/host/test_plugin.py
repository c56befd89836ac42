"""verl's own entry point with the installed plugin, on the CPU host; and a plugin that cannot register."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dataflex_rl.config.paths import shipped
from dataflex_rl.data.tiny.build import build
from tests.host.training import PATIENCE, environment, read_lines


def test_main_ppo_with_a_policy(tmp_path: Path) -> None:
    """Stock configuration plus the trainer, the policy and the CPU host; no record, verl's own logger."""
    paths = build(progress=False)
    log = tmp_path / "log.jsonl"
    command = [
        sys.executable, "-m", "verl.trainer.main_ppo", "--config-dir", str(shipped("conf")), "+host=cpu",
        "trainer.v1.trainer_mode=dataflex_sync",
        "+dataflex.scorer.name=group_solve", "+dataflex.actuator.name=difffilter",
        "algorithm.adv_estimator=grpo", "actor_rollout_ref.rollout.n=5",
        f"actor_rollout_ref.model.path={paths.model}",
        f"data.train_files={paths.train}", f"data.val_files={paths.val}",
        "data.train_batch_size=16", "data.max_prompt_length=32", "data.max_response_length=12",
        "data.dataloader_num_workers=0", "actor_rollout_ref.actor.optim.lr=3e-4",
        "actor_rollout_ref.actor.ppo_mini_batch_size=16", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=80",
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=80",
        "reward.custom_reward_function.path=pkg://dataflex_rl.rewards.toy3",
        "trainer.total_training_steps=2", "trainer.val_before_train=false", "trainer.logger=[file]",
        f"hydra.run.dir={tmp_path}",
    ]  # fmt: skip
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(VERL_FILE_LOGGER_PATH=str(log)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    lines = read_lines(log)
    assert [line["step"] for line in lines] == [1, 2]
    for line in lines:
        data = line["data"]
        assert 0 <= data["dataflex/kept_frac"] < 1
        assert data["dataflex/acting"] == 1
        assert data["training/rollout_probs_diff_mean"] <= 1e-3


def python(code: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a few lines in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code], env=environment(**extra), capture_output=True, text=True, timeout=120
    )


def test_installing_is_registering() -> None:
    code = (
        "import verl\n"
        "from verl.trainer.ppo.v1 import get_trainer_cls\n"
        "from verl.workers.rollout.replica import RolloutReplicaRegistry\n"
        "from verl.plugin.platform.platform_manager import PlatformRegistry\n"
        "print(get_trainer_cls('dataflex_sync').__name__, RolloutReplicaRegistry.get('dataflex').__name__,"
        " PlatformRegistry.get('cpu').__name__)"
    )
    done = python(code)
    assert "DataflexSyncTrainer DataflexReplica PlatformCPU" in done.stdout, done.stderr[-2000:]


def test_without_transfer_queue_the_user_gets_the_reason(tmp_path: Path) -> None:
    """A stand-in that cannot be found: importing verl says why the trainers are missing."""
    hide = (
        "import importlib.util as u, sys\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'transfer_queue' else real(name, package)\n"
        "import verl\n"
    )
    done = python(hide)
    assert "TransferQueue is not installed" in done.stdout
    assert "pip install TransferQueue" in done.stdout


def test_a_wrong_verl_is_named() -> None:
    code = (
        "from importlib import metadata\n"
        "real = metadata.version\n"
        "metadata.version = lambda name: '0.8.0' if name == 'verl' else real(name)\n"
        "import verl\n"
    )
    done = python(code)
    assert "dataflex_rl works with verl >=0.9.1,<0.10, found 0.8.0" in done.stdout
    assert "dataflex_sync" in done.stdout


def test_asking_for_a_trainer_that_could_not_register_gives_the_reason() -> None:
    code = (
        "from importlib import metadata\n"
        "real = metadata.version\n"
        "metadata.version = lambda name: '0.8.0' if name == 'verl' else real(name)\n"
        "import verl\n"
        "from verl.trainer.ppo.v1 import get_trainer_cls\n"
        "try:\n"
        "    get_trainer_cls('dataflex_sync')(config=None)\n"
        "except RuntimeError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = python(code, DATAFLEX_RL_QUIET="1")
    assert "found 0.8.0" in done.stdout, done.stdout + done.stderr[-1500:]
