"""A mixer of another package: registered, checked, with a state that resumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from dataflex_rl import replay_mixer
from dataflex_rl.components import registry
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.config import MixerConfig, parse_mixer
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.mixers import DomainStats, Mixer
from dataflex_rl.mixers.statistics import Tally
from dataflex_rl.policy.split import MIXER_DEFAULTS

HISTORY = [{"a": {"reward": [0.0]}, "b": {"reward": [1.0]}}] * 3


@dataclass(kw_only=True)
class Turns(Mixer):
    """Each domain in turn gets all: needs to know how often it was asked."""

    asked: list[int] = field(default_factory=lambda: [0], init=False)

    def share_D(self, value_D: Tensor, stats: DomainStats) -> Tensor:
        self.asked[0] += 1
        return torch.eye(len(stats.domains), dtype=torch.float64)[self.asked[0] % len(stats.domains)]

    def state_dict(self) -> dict[str, Any]:
        return {"asked": self.asked[0]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.asked[0] = state["asked"]


@dataclass(kw_only=True)
class Bad(Mixer):
    """Gives whatever it is told to."""

    shares: list[float]

    def share_D(self, value_D: Tensor, stats: DomainStats) -> Tensor:
        return torch.tensor(self.shares, dtype=torch.float64)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.names("mixer")
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    registry.register_mixer("turns", stateful=True)(Turns)
    registry.register_mixer("bad")(Bad)


def turns() -> DomainMixer:
    config = parse_mixer({**MIXER_DEFAULTS, "name": "turns"})
    assert isinstance(config, MixerConfig)
    return DomainMixer(config, ("a", "b"))


def test_it_mixes_and_resumes() -> None:
    assert replay_mixer({"name": "turns"}, HISTORY) == [{"a": 0, "b": 1}, {"a": 1, "b": 0}, {"a": 0, "b": 1}]
    one = torch.ones(2)
    tally = Tally(sum_D=one.double(), count_D=one.long(), seen_D=one.long())
    whole, part, resumed = turns(), turns(), turns()
    for step in (1, 2, 3):
        whole.observe(step, tally)
    part.observe(1, tally)
    resumed.load_state_dict(part.state_dict())
    for step in (2, 3):
        resumed.observe(step, tally)
    assert resumed.state_dict() == whole.state_dict()
    with pytest.raises(ConfigError, match="mixer 'turns': the saved state does not fit its component"):
        turns().load_state_dict({**part.state_dict(), "component": None})


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ([0.5, 0.6], r"expected shares of at least 0 and of sum 1"),
        ([1.5, -0.5], r"expected shares of at least 0 and of sum 1"),
        ([float("inf"), 1.0], "with a NaN or Inf"),
        ([1.0], r"of shape \(1,\), expected \(2,\)"),
    ],
)
def test_what_is_no_share_is_refused(shares: list[float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replay_mixer({"name": "bad", "params": {"shares": shares}}, HISTORY)


def test_an_empty_state_fails_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turns, "state_dict", lambda self: {})
    with pytest.raises(ConfigError, match="declared stateful, but its state_dict"):
        turns().state_dict()


def test_what_is_no_mixer_is_refused() -> None:
    @dataclass(kw_only=True)
    class Loose:
        """Registered without the base."""

    registry.register_mixer("loose")(Loose)
    with pytest.raises(ConfigError, match=r"mixer 'loose': Loose must be a dataflex_rl.mixers.Mixer"):
        replay_mixer({"name": "loose"}, HISTORY)
