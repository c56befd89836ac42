"""Components of third parties: state that resumes, and answers that no loss can take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest
import torch
from torch import Tensor

from dataflex_rl import apply_policy
from dataflex_rl.components.batch import Batch, SignalError
from dataflex_rl.components.pool import Pool, Selection
from dataflex_rl.components.registry import _SPECS, lookup, register_actuator, register_scorer
from dataflex_rl.errors import ConfigError
from dataflex_rl.policy import Policy
from dataflex_rl.policy.signals import to_batch

DATA = {"uid": list("aaaabbcc"), "reward": [1, 1, 0, 0, 0, 0, 1, 1]}
BATCH = to_batch(DATA, frozenset(), False)


@dataclass(kw_only=True)
class Counting:
    """Number of batches seen so far, as every response's score."""

    start: int = 0
    hollow: ClassVar[bool] = False

    def __call__(self, batch: Batch) -> Tensor:
        self.start += 1
        return torch.full((batch.size,), float(self.start))

    def state_dict(self) -> dict[str, int]:
        return {} if self.hollow else {"start": self.start}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.start = state["start"]


@dataclass(frozen=True, kw_only=True)
class Sloppy:
    """A selector that gives something else than it should."""

    what: Literal["tensor", "short", "float", "reason"] = "tensor"

    def __call__(self, pool: Pool) -> Any:
        keep_B = pool.score_B > 0
        return {
            "tensor": keep_B,
            "short": Selection(keep_B=keep_B[:-1]),
            "float": Selection(keep_B=keep_B.float()),
            "reason": Selection(keep_B=keep_B, reason_B=torch.zeros(1, dtype=torch.int64)),
        }[self.what]


@dataclass(frozen=True, kw_only=True)
class Broken:
    """Weights that no loss can take."""

    value: float = -1.0
    short: bool = False

    def __call__(self, pool: Pool) -> Tensor:
        return torch.full_like(pool.score_B, self.value)[: -1 if self.short else None]


@pytest.fixture
def parts() -> Any:
    lookup("scorer", "reward")  # load ours first: they register once per process
    before = dict(_SPECS)
    register_scorer("counting", granularity="response", stateful=True)(Counting)
    register_actuator("sloppy", kind="select", granularity=("response",))(Sloppy)
    register_actuator("broken", kind="reweight", granularity=("response",))(Broken)
    yield
    _SPECS.clear()
    _SPECS.update(before)


@pytest.mark.usefixtures("parts")
def test_a_stateful_part_resumes() -> None:
    block = {"scorer": {"name": "counting"}, "actuator": {"name": "softmax"}}
    policy = Policy.from_config(block)
    policy.apply(BATCH, step=1)
    state = policy.state_dict()
    assert state["links"] == [{"scorer": {"start": 1}, "actuator": None}]
    fresh = Policy.from_config(block)
    fresh.load_state_dict(state)
    score_B = fresh.apply(BATCH, step=2).score_B
    assert score_B is not None
    assert score_B[0] == 2.0
    with pytest.raises(ConfigError, match="scorer 'counting': the saved state does not fit"):
        fresh.load_state_dict({**state, "links": [{"scorer": None, "actuator": None}]})


@pytest.mark.usefixtures("parts")
def test_an_empty_state_of_a_stateful_part_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counting, "hollow", True)
    policy = Policy.from_config({"scorer": {"name": "counting"}, "actuator": {"name": "softmax"}})
    with pytest.raises(
        ConfigError, match=r"component 'counting' is declared stateful, but its state_dict\(\) is empty"
    ):
        policy.state_dict()


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"value": -1.0}, "actuator 'broken' gave a negative, NaN or infinite weight"),
        ({"value": float("inf")}, "actuator 'broken' gave a negative, NaN or infinite weight"),
        ({"short": True}, r"actuator 'broken' gave weights of shape \(7,\), expected \(8,\)"),
    ],
)
def test_impossible_weights_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(SignalError, match=message):
        apply_policy({"scorer": {"name": "reward"}, "actuator": {"name": "broken", "params": params}}, DATA)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("tensor", "actuator 'sloppy' gave a Tensor, expected a dataflex_rl.components.pool.Selection"),
        ("short", r"actuator 'sloppy' gave keep_B of shape \(7,\), expected \(8,\)"),
        ("float", "actuator 'sloppy' gave keep_B of torch.float32, expected torch.bool"),
        ("reason", r"actuator 'sloppy' gave reason_B of shape \(1,\), expected \(8,\)"),
    ],
)
def test_an_impossible_selection_is_refused(what: str, message: str) -> None:
    block = {"scorer": {"name": "reward"}, "actuator": {"name": "sloppy", "params": {"what": what}}}
    with pytest.raises(SignalError, match=message):
        apply_policy(block, DATA)


@pytest.mark.usefixtures("parts")
def test_a_score_of_another_length_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counting, "__call__", lambda self, batch: torch.zeros(batch.size + 1))
    with pytest.raises(SignalError, match=r"scorer 'counting' gave shape \(9,\), expected \(8,\)"):
        apply_policy({"scorer": {"name": "counting"}, "actuator": {"name": "softmax"}}, DATA)
    monkeypatch.setattr(Counting, "__call__", lambda self, batch: torch.full((batch.size,), float("nan")))
    with pytest.raises(SignalError, match="scorer 'counting' gave a NaN or Inf on a response that is data"):
        apply_policy({"scorer": {"name": "counting"}, "actuator": {"name": "softmax"}}, DATA)
