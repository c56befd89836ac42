"""Mixed runs end to end: real processes, the embedded model, domain rewards made unequal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.host.training import Finished, kill, read_lines, start, train, untimed, wait_for
from tests.prompts.test_prompt_resume import equal

DOMAINS = ("logic", "math", "science")
STEPS = 6
REWARD = '''"""toy3 whose logic prompts cannot be solved."""

from dataflex_rl.rewards.toy3 import compute_score as toy3


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    """Score as toy3 does, logic always 0."""
    result = toy3(data_source, solution_str, ground_truth, extra_info, **kwargs)
    return {**result, "score": 0.0, "acc": 0.0} if data_source == "logic" else result
'''
# 48 rows are three batches a pass, so six steps cross a pass boundary in every domain; a selector acts beside the mixer
RUN = (
    "sweep=mix",
    "scorer=group_solve",
    "actuator=difffilter",
    "mixer=reward_gap",
    "dataflex.mixer.params.temperature=0.5",
    "dataflex.mixer.oversample=1.25",
    "data.train_max_samples=48",
    f"trainer.total_training_steps={STEPS}",
    "trainer.save_freq=2",
)
RECORD = "mix/tiny-toy3/difffilter+reward_gap/seed_0"


@pytest.fixture(scope="module")
def reward(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Override that makes logic unsolvable."""
    path = tmp_path_factory.mktemp("reward") / "unequal.py"
    path.write_text(REWARD)
    return f"reward.custom_reward_function.path={path}"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, reward: str) -> Finished:
    """The run, undisturbed."""
    return train(tmp_path_factory.mktemp("mixed"), RECORD, *RUN, reward)


def column(run: Finished, key: str, domain: str) -> list[float]:
    return [data[f"dataflex/{key}/{domain}"] for data in run.metrics]


def test_reward_gap_moves_the_generated_prompts(mixed: Finished) -> None:
    assert mixed.code == 0, mixed.out
    assert all(value == 0.0 for value in column(mixed, "mixer_statistic", "logic"))
    target, realised = column(mixed, "share_target", "logic"), column(mixed, "share_realised", "logic")
    assert target[0] == pytest.approx(1 / 3)
    for step in range(1, STEPS):
        assert target[step] > 0.4
        assert abs(realised[step] - target[step]) <= 1 / 16 + 1e-9  # within one prompt of 16
        assert column(mixed, "share_responses", "logic")[step] == realised[step]
    drawn = mixed.json("manifest.json")["prompt_stream_digest"]["domains"]
    assert drawn["logic"]["count"] > max(drawn["math"]["count"], drawn["science"]["count"])


def test_a_selector_does_not_blind_the_mixer(mixed: Finished) -> None:
    """Not one logic response is kept, and still the mixer counts them all."""
    assert all(value == 0.0 for value in column(mixed, "kept_frac", "logic"))
    trained = [data for data in mixed.metrics if "dataflex/share_trained_tokens/logic" in data]
    assert trained
    assert all(data["dataflex/share_trained_tokens/logic"] == 0.0 for data in trained)
    for domain in ("math", "science"):
        sums = [
            data[f"dataflex/reward_all/{domain}"] * data[f"dataflex/share_responses/{domain}"] for data in mixed.metrics
        ]
        counts = column(mixed, "share_responses", domain)
        assert column(mixed, "mixer_statistic", domain)[-1] == pytest.approx(sum(sums) / sum(counts))


def test_surplus_is_dropped_and_counted(mixed: Finished) -> None:
    for data in mixed.metrics:
        assert data["dataflex/surplus_prompts"] == 4.0  # 1.25 x 16 = 20
        assert data["dataflex/surplus_tokens"] > 0
        kept_out = data["dataflex/tokens_generated"] - data["dataflex/tokens_trained"]
        assert data["dataflex/tokens_dropped"] == kept_out
    assert mixed.json("manifest.json")["prompt_stream_digest"]["all"]["count"] == 20 * STEPS
    assert sum(sum(column(mixed, "recycled", name)) for name in DOMAINS) >= 20 * STEPS - 48


def resumed(folder: Path, reward: str, step: int) -> Finished:
    """Kill the run once the line of a step is there, and let the same command continue."""
    process = start(folder, *RUN, reward)
    wait_for(_line(folder / RECORD / "metrics.jsonl", step), process)
    kill(process)
    return train(folder, RECORD, *RUN, reward)


def _line(path: Path, step: int) -> Callable[[], bool]:
    return lambda: len(read_lines(path)) >= step


def assert_same(one: Finished, other: Finished, ignore: tuple[str, ...] = ()) -> None:
    """Equal metrics but for times, equal prompts, equal evaluation, equal weights, equal state of ours."""
    assert one.code == other.code == 0, one.out + other.out
    assert [untimed(data, ignore) for data in one.metrics] == [untimed(data, ignore) for data in other.metrics]
    assert one.json("manifest.json")["prompt_stream_digest"] == other.json("manifest.json")["prompt_stream_digest"]
    assert one.json("eval.json") == other.json("eval.json")
    weights, others = one.weights(STEPS), other.weights(STEPS)
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    states = [
        torch.load(run.record / "checkpoints" / f"global_step_{STEPS}" / "dataflex.pt", weights_only=True)
        for run in (one, other)
    ]
    assert equal(*states)


def test_killed_and_resumed_equals_uninterrupted(mixed: Finished, reward: str, tmp_path: Path) -> None:
    again = resumed(tmp_path, reward, 3)
    assert again.json("status.json")["attempts"] == 2
    assert_same(again, mixed)


@pytest.mark.slow
@pytest.mark.parametrize("step", [2, 4, 5])
def test_killed_anywhere_and_resumed(mixed: Finished, reward: str, tmp_path: Path, step: int) -> None:
    assert_same(resumed(tmp_path, reward, step), mixed)


@pytest.mark.slow
def test_dump_ucb_generates_a_domain_never_seen(tmp_path: Path) -> None:
    """Two prompts a step for three domains: science has none of the first step, and one or both of the second."""
    size = (
        "data.train_batch_size=2",
        "actor_rollout_ref.actor.ppo_mini_batch_size=2",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=10",
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=10",
        "trainer.total_training_steps=3",
    )
    run = train(tmp_path, "default/tiny-toy3/dump_ucb/seed_0", "method=dump_ucb", *size)
    assert run.code == 0, run.out
    assert column(run, "share_realised", "science")[0] == 0.0
    assert column(run, "share_target", "science")[1] > 1 / 3
    assert column(run, "share_realised", "science")[1] >= 0.5


@pytest.mark.slow
def test_tscl_and_static_generate_their_shares(tmp_path: Path) -> None:
    size = "trainer.total_training_steps=4"
    scorer = "dataflex.mixer.scorer={name: token_prob}"  # read from the queue for the mixer alone
    moving = train(tmp_path, "default/tiny-toy3/tscl/seed_0", "method=tscl", "dataflex.mixer.window=3", scorer, size)
    fixed = train(tmp_path, "default/tiny-toy3/static/seed_0", "method=static", size)
    for run in (moving, fixed):
        assert run.code == 0, run.out
        for name in DOMAINS:
            for asked, got in zip(column(run, "share_target", name), column(run, "share_realised", name), strict=True):
                assert abs(asked - got) <= 1 / 16 + 1e-9
    changes = {name: column(moving, "mixer_statistic", name)[2] for name in DOMAINS}
    most = max(DOMAINS, key=changes.__getitem__)
    assert column(moving, "share_target", most)[3] == max(column(moving, "share_target", name)[3] for name in DOMAINS)
    one, other = (run.json("manifest.json")["prompt_stream_digest"]["domains"] for run in (moving, fixed))
    for name in DOMAINS:  # the same prompts, as far as both went
        shorter = min(one[name]["count"], other[name]["count"])
        assert one[name]["marks"][:shorter] == other[name]["marks"][:shorter]
