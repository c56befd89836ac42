"""Mixed feeds on verl's own dataset, sampler and collate function; no process is started."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict
from verl.utils.tensordict_utils import get_tensordict

import dataflex_rl.plugin  # noqa: F401 (verl must have loaded it before our host modules are imported one by one)
from dataflex_rl.host.rows import SamplerOrder, collated
from dataflex_rl.record.streams import common_prefix
from dataflex_rl.seeding import prompt_key
from tests.host.mix.composed import drawn, stepped, trainer

EQUAL = {"math": 1.0, "logic": 1.0, "science": 1.0}


@pytest.fixture(scope="module")
def uniform(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """`method=uniform` after 2 1/2 passes of its 48 rows through verl's dataloader: 3 batches of 16 a pass."""
    made = trainer(tmp_path_factory.mktemp("uniform"), "data.train_max_samples=50")
    made.keys = [drawn(made) for _ in range(8)]
    return made


def stream(batches: list[tuple[list[str], list[str]]], domain: str) -> list[str]:
    """Prompt keys of a domain, in the order drawn."""
    return [
        uid.split("-")[0] for uids, names in batches for uid, name in zip(uids, names, strict=True) if name == domain
    ]


def test_a_pass_is_what_verls_dataloader_consumes(uniform: Any) -> None:
    native = [uid.split("-")[0] for uids, _ in uniform.keys for uid in uids]
    order = SamplerOrder(uniform.config.data, uniform.train_dataset, 16)
    ours = [uid for number in range(3) for uid in _keys(uniform, order(number))]
    assert len(ours) == 3 * 48  # 50 rows make 3 whole batches
    assert ours[: len(native)] == native
    assert order(0) == SamplerOrder(uniform.config.data, uniform.train_dataset, 16)(0)  # an earlier pass again


def _keys(made: Any, rows: list[int]) -> list[str]:
    return [prompt_key(made.train_dataset[row]["raw_prompt"]) for row in rows]


def test_a_batch_is_what_verls_dataloader_makes(tmp_path: Path) -> None:
    made = trainer(tmp_path)
    rows = SamplerOrder(made.config.data, made.train_dataset, 16)(0)[:16]
    ours = collated(made.train_dataset, rows)
    native = next(iter(made.train_dataloader))
    theirs = get_tensordict({**native, "uid": np.array(list(ours["uid"]), dtype=object)})
    assert set(ours.keys()) == set(theirs.keys())
    for key in ours.keys():  # noqa: SIM118 (a TensorDict iterates over its rows)
        assert _plain(ours, key) == _plain(theirs, key), key


def _plain(batch: TensorDict, key: str) -> list[Any]:
    value = batch[key]
    return value.tolist() if isinstance(value, torch.Tensor) else [str(item) for item in value]


@pytest.mark.parametrize(
    "method",
    [
        "method=static",
        "method=reward_gap dataflex.mixer.params.temperature=0.2",
        "method=dump_ucb",
        "method=tscl dataflex.mixer.window=2",
    ],
)
def test_the_kth_prompt_of_a_domain_is_the_same_in_every_method(uniform: Any, tmp_path: Path, method: str) -> None:
    made = trainer(tmp_path, *method.split(), "data.train_max_samples=50")
    batches = [stepped(made, {"math": 0.1, "logic": 0.2 * step % 1.0, "science": 0.9})[:2] for step in range(7)]
    recorded, native = made.ledger.digest.state_dict()["domains"], uniform.ledger.digest.state_dict()["domains"]
    for name in EQUAL:
        ours, theirs = stream(batches, name), stream(uniform.keys, name)
        shorter = min(len(ours), len(theirs))
        assert shorter >= 10
        assert ours[:shorter] == theirs[:shorter]
        agreed, compared = common_prefix(recorded[name], native[name])
        assert agreed == compared == shorter


def test_two_static_runs_with_equal_shares_are_identical(tmp_path: Path) -> None:
    given = "dataflex.mixer.params.proportions={math: 0.25, logic: 0.25, science: 0.5}"
    one, other = (trainer(tmp_path / name, "method=static", given) for name in "ab")
    assert [stepped(one, EQUAL) for _ in range(4)] == [stepped(other, EQUAL) for _ in range(4)]
    assert Counter(drawn(one)[1]) == {"math": 4, "logic": 4, "science": 8}


def test_another_seed_draws_other_prompts(tmp_path: Path) -> None:
    one = trainer(tmp_path, "method=static")
    other = trainer(tmp_path, "method=static", "seed=1")
    assert drawn(one)[0] != drawn(other)[0]


def test_a_prompt_drawn_again_gets_another_uid(tmp_path: Path) -> None:
    made = trainer(tmp_path, "method=static", "data.train_max_samples=16", "data.train_batch_size=16")
    uids = [uid for _ in range(3) for uid in drawn(made)[0]]
    assert len(set(uids)) == 48
    assert {uid.split("-")[1] for uid in uids} >= {"0", "1", "2"}


def test_domains_may_be_restricted_or_regrouped(tmp_path: Path) -> None:
    two = trainer(tmp_path, "method=static", "dataflex.mixer.domains=[science,math]")
    assert Counter(drawn(two)[1]) == {"science": 8, "math": 8}
    groups = trainer(tmp_path, "method=static", "dataflex.mixer.domains={exact: [math, logic], facts: [science]}")
    _, domains, metrics = stepped(groups, EQUAL)
    assert domains.count("science") == 8
    assert set(domains) == {"math", "logic", "science"}
    assert metrics["dataflex/share_realised/exact"] == metrics["dataflex/share_realised/facts"] == 0.5


def test_oversampling_draws_more(tmp_path: Path) -> None:
    made = trainer(tmp_path, "method=static", "dataflex.mixer.oversample=1.3")
    uids, domains = drawn(made)
    assert len(uids) == 21  # ceil(1.3 x 16)
    complete, partial = uids[1:-1], [uids[0]]  # one group failed in part, one in whole
    picked = made.feed.choose(complete, partial, 16)
    asked = dict(zip(made.feed.domains.names, made.feed.ask_D, strict=True))
    assert sum(asked.values()) == len(picked) == 16
    assert Counter(domains[uids.index(uid)] for uid in picked) == asked
    assert uids[0] not in picked  # a whole group of its domain stands in
    for name in EQUAL:  # of each domain those drawn first
        of_name = [uid for uid in complete if domains[uids.index(uid)] == name]
        assert [uid for uid in of_name if uid in picked] == of_name[: asked[name]]


@pytest.mark.parametrize("stop", [1, 4, 7])
def test_resumed_draws_equal_uninterrupted_ones(tmp_path: Path, stop: int) -> None:
    """Prompt ids, shares and metrics, over pass boundaries, through the state that verl's checkpoint carries."""
    choice = ("method=reward_gap", "dataflex.mixer.params.temperature=0.3", "data.train_max_samples=60")
    rewards = [{"math": 0.1 * step, "logic": 0.5, "science": 0.9 - 0.1 * step} for step in range(9)]
    whole = trainer(tmp_path, *choice)
    expected = [stepped(whole, reward) for reward in rewards]
    part = trainer(tmp_path, *choice)
    seen = [stepped(part, reward) for reward in rewards[:stop]]
    torch.save(part._state(), tmp_path / "state.pt")
    resumed = trainer(tmp_path, *choice)
    resumed._load_state(torch.load(tmp_path / "state.pt", weights_only=True), tmp_path)
    resumed.global_steps = stop + 1
    seen += [stepped(resumed, reward) for reward in rewards[stop:]]
    assert seen == expected
    assert resumed._state() == whole._state()
