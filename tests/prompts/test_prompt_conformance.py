"""What is called a selector differs from uniform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dataflex_rl.components.registry import build
from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts import Candidates, Choice, PromptSelector
from dataflex_rl.prompts.conformance import chance_L, check_selects
from dataflex_rl.prompts.interface import posterior_C, ranked, weighted_order
from dataflex_rl.prompts.table import FloatArray
from tests.prompts.pools import ACT


@dataclass(frozen=True, kw_only=True)
class Flat(PromptSelector):
    """p proportional to exp(sqrt(p (1 - p)) / t), t = 100 (alpha + 1): a public sampler's formula."""

    alpha: float = 0.5
    scale: float = 100.0

    def weight_C(self, rate_C: FloatArray) -> FloatArray:
        return np.exp(np.sqrt(rate_C * (1 - rate_C)) / (self.scale * (self.alpha + 1)))

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        weight_C = self.weight_C(posterior_C(candidates, 1.0, 1.0))
        return ranked(weighted_order(candidates, weight_C, rng), n, candidates.size, "not_drawn")


def test_a_flattened_sampler_is_refused() -> None:
    # exp(.5 / 150) = 1.0033 at most between a rate of .5 and one of 0
    weight_C = Flat().weight_C(np.array([0.5, 0.0]))
    assert weight_C[0] / weight_C[1] == pytest.approx(1.00334, abs=1e-5)
    with pytest.raises(
        ConfigError, match=r"prompt selector 'flat' does not select: .* a factor of 1\.\d\d, expected at"
    ):
        check_selects("flat", Flat())
    assert check_selects("sharp", Flat(scale=0.1)) > 1.5  # exp(.5 / .15) = 28 before the prior's smoothing


@pytest.mark.parametrize("name", ACT)
def test_every_rule_of_ours_selects(name: str) -> None:
    for seed in range(3):
        assert check_selects(name, build("prompt selector", name), seed) >= 1.5


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["none", "order"])
def test_uniform_does_not(name: str, seed: int) -> None:
    with pytest.raises(ConfigError, match=f"prompt selector {name!r} does not select"):
        check_selects(name, build("prompt selector", name), seed)


def test_chances_of_learnability() -> None:
    # three visits of 10 with decay .5 are worth 17.5 responses: posterior means (1 + 17.5 r) / 19.5, weights p(1 - p)
    rate_L = (1 + 17.5 * np.arange(11) / 10) / 19.5
    weight_L = rate_L * (1 - rate_L)
    expected_L = 0.9 * weight_L / weight_L.mean() + 0.1
    found_L = chance_L(build("prompt selector", "learnability"), np.random.default_rng(1))
    assert found_L == pytest.approx(expected_L, abs=0.2)  # drawing 20 of 220 without replacement flattens a little
