"""A verifier that raises for one prompt fails that prompt, names it, and takes no other along."""

from __future__ import annotations

from pathlib import Path

from tests.host.training import train

VERIFIER = '''
from dataflex_rl.rewards import toy3

broken = []


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **more):
    """Raise for every response of the first training prompt."""
    if extra_info["split"] == "train":
        broken[:] = broken or [extra_info["index"]]
        if extra_info["index"] == broken[0]:
            raise ArithmeticError("no grade today")
    return toy3.compute_score(data_source, solution_str, ground_truth, extra_info, **more)
'''


def test_one_prompt_that_cannot_be_graded_is_one_failed_prompt(tmp_path: Path) -> None:
    verifier = tmp_path / "verifier.py"
    verifier.write_text(VERIFIER)
    run = train(
        tmp_path, "default/tiny-toy3/uniform/seed_0", "trainer.total_training_steps=1",
        f"reward.custom_reward_function.path={verifier}",
    )  # fmt: skip
    assert run.code == 1
    log = (run.record / "train.log").read_text()
    assert "ArithmeticError: no grade today" in log
    assert "the rollout of 1 prompts failed" in log  # of the 16 of the step
    status = run.json("status.json")
    assert (status["state"], status["step"]) == ("failed", 0)
    assert run.json("eval.json")["benchmarks"]["math"]["untrained"]["total"] == 100
