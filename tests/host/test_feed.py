"""The prompt feed: identities, draw counts, resume at any point of a pass, the fixed order of batches."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

import dataflex_rl.plugin  # noqa: F401 - verl loads it first, as in a run
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.draw_counter import PromptLedger
from dataflex_rl.feed.identity import Identity, TrajectoryKey, from_uid, identify, make_uid
from dataflex_rl.host.replay import OrderedReplayBuffer
from dataflex_rl.host.state import check_fingerprint, load_state, save_state
from dataflex_rl.seeding import prompt_key


def message(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_draws_are_counted_per_content() -> None:
    ledger = PromptLedger()
    uids = ledger.take([message("a"), message("b"), message("a")], ["math", "logic", "math"])
    a, b = prompt_key(message("a")), prompt_key(message("b"))
    assert uids == [f"{a}-0", f"{b}-0", f"{a}-1"]
    assert ledger.take([message("a")], ["math"]) == [f"{a}-2"]
    assert ledger.repeats == 2
    assert ledger.digest.state_dict()["domains"]["math"]["count"] == 3


def test_a_ledger_continues_from_its_state() -> None:
    prompts = [message(str(i % 5)) for i in range(23)]
    whole, first = PromptLedger(), PromptLedger()
    expected = whole.take(prompts, ["d"] * 23)
    begun = first.take(prompts[:9], ["d"] * 9)
    second = PromptLedger()
    second.load_state_dict(first.state_dict())
    assert begun + second.take(prompts[9:], ["d"] * 14) == expected
    assert second.state_dict() == whole.state_dict()


def test_uids_carry_the_identity_and_no_underscore() -> None:
    who = Identity("0123456789abcdef", 12)
    assert from_uid(make_uid(who)) == who
    assert "_" not in make_uid(who)
    assert TrajectoryKey.parse(f"{make_uid(who)}_4_0") == (make_uid(who), 4, 0)
    foreign = "6f1c0f0e-3b5b-4d57-9b0a-0c9d5d0b6a10"
    assert from_uid(foreign) is None
    assert identify(foreign, message("a")) == Identity(prompt_key(message("a")), 0)


class Numbers(torch.utils.data.Dataset[int]):
    """Ten rows, so that batches of three cut a pass."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        return index


class Feed:
    """verl's sampler and dataloader, drawn from as verl's trainer draws from them."""

    def __init__(self) -> None:
        from torchdata.stateful_dataloader import StatefulDataLoader
        from verl.trainer.ppo.utils import create_rl_sampler

        data = Numbers()
        sampler = create_rl_sampler(OmegaConf.create({"shuffle": True, "seed": 3}), data)
        self.loader = StatefulDataLoader(data, batch_size=3, num_workers=0, drop_last=True, sampler=sampler)
        self.iterator: Any = None

    def batch(self) -> list[int]:
        try:
            self.iterator = self.iterator or iter(self.loader)
            return list(next(self.iterator).tolist())
        except StopIteration:
            self.iterator = iter(self.loader)
            return list(next(self.iterator).tolist())


@pytest.mark.parametrize("step", range(1, 10))
def test_verls_dataloader_resumes_at_any_step_also_between_passes(step: int) -> None:
    """Passes of three batches: steps 3, 6 and 9 are boundaries, where others skipped the next pass."""
    feed = Feed()
    expected = [feed.batch() for _ in range(12)]
    first = Feed()
    begun = [first.batch() for _ in range(step)]
    saved = io.BytesIO()
    torch.save(first.loader.state_dict(), saved)
    saved.seek(0)
    second = Feed()
    second.loader.load_state_dict(torch.load(saved, weights_only=False))
    assert begun + [second.batch() for _ in range(12 - step)] == expected


def buffer(**settings: Any) -> OrderedReplayBuffer:
    return OrderedReplayBuffer(
        trainer_mode="sync",
        trainer_config=OmegaConf.create({}),
        max_off_policy_threshold=8,
        max_off_policy_strategy="drop",
        sampler_kwargs=OmegaConf.create(settings),
    )


def test_a_replay_buffer_polls_at_its_own_interval() -> None:
    assert buffer().poll_interval == 0.02
    assert buffer(poll_interval=0.5).poll_interval == 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pol_interval": 1}, "unknown ['pol_interval']; known: ['filter_groups', 'on_failure', 'poll_interval']"),
        ({"filter_groups": True}, "algorithm.filter_groups.enable=true is dropped by verl"),
    ],
)
def test_settings_that_a_replay_buffer_refuses(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        buffer(**settings)
    assert message in str(caught.value)


def test_prompts_are_chosen_in_the_order_of_their_identity() -> None:
    sampler = buffer()
    uids = [make_uid(Identity(key, draw)) for key, draw in (("b" * 16, 0), ("a" * 16, 10), ("a" * 16, 9))]
    chosen, _, _ = sampler._select_prompt_uids("train", set(uids), 2)
    assert chosen == [uids[2], uids[1]]


def test_a_failed_rollout_is_an_error_that_names_it() -> None:
    sampler = buffer()
    sampler.failure_keys["train"] = {"x-0", "a-0"}
    with pytest.raises(RuntimeError, match=r"the rollout of 2 prompts failed \(first uid a-0\)"):
        sampler._wait_for_next_poll("train", 0.0)


def test_a_state_is_of_its_data(tmp_path: Path) -> None:
    folder = tmp_path / "global_step_4"
    save_state(folder, {"fingerprint": "aaaa", "feed": {"draws": {}}})
    state = load_state(folder)
    check_fingerprint(state, "aaaa", folder)
    with pytest.raises(ConfigError, match=r"fingerprint aaaa, but data.train_files has bbbb"):
        check_fingerprint(state, "bbbb", folder)
    with pytest.raises(ConfigError, match=r"has no dataflex\.pt"):
        load_state(tmp_path)
