"""Selectors and replay_prompts need torch and numpy only, not a host; and what they answer."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dataflex_rl import replay_prompts

HOSTS = (
    "verl", "ray", "transfer_queue", "tensordict", "hydra", "omegaconf", "transformers", "pandas", "pyarrow", "scipy"
)  # fmt: skip
CODE = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HOSTS}:
            raise ImportError(name + " is not installed")
sys.meta_path.insert(0, Blocked())
import dataflex_rl
assert "numpy" not in sys.modules
from dataflex_rl.components.registry import names
for name in names("prompt selector"):
    facts = {{"p": {{"extra_info.difficulty": 1}}, "q": {{"extra_info.difficulty": 2}}}}
    steps = dataflex_rl.replay_prompts({{"name": name}}, [{{"p": [1.0], "q": [0.0]}}], prompts=facts)
    print(name, sorted(steps[0]["next"]))
import dataflex_rl.feed.backfill, dataflex_rl.feed.budgets, dataflex_rl.prompts.conformance
"""


def test_selectors_import_numpy_and_torch_only() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd="/", check=False)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 8
    assert all(line.endswith("['p', 'q']") for line in lines)


def test_replay_says_what_comes_next_and_what_is_expected() -> None:
    # decay 1/2: p is 1 of 2, then 2 of 2: (1 + .5 + 2) / (2 + 1 + 2) = .7; q never: .5
    history = [{"p": [1.0, 0.0]}, {"p": [1.0, 1.0]}]
    steps = replay_prompts({"name": "beta_thompson"}, history, prompts=["p", "q"])
    assert [step["rates"] for step in steps] == [{"p": 0.5, "q": 0.5}, {"p": pytest.approx(0.7), "q": 0.5}]
    assert all(len(step["next"]) == 1 for step in steps)
    # the first step was expected at .5: (1 - .5)^2 and .5^2, the second at .5 too, of 1 and 1
    assert steps[0]["metrics"]["dataflex/prompts/brier/first"] == 0.25
    assert steps[1]["metrics"]["dataflex/prompts/brier/later"] == 0.25


def test_replay_follows_columns_domains_and_buckets() -> None:
    facts = {name: {"domain": "d", "level": level} for name, level in (("a", 1), ("b", 2), ("c", 3))}
    config = {"name": "curriculum", "params": {"column": "level"}}
    # mean reward 1: the target goes to 50 tanh(1) = 38, nearest to b at 50; 0 keeps it at 0: a
    assert replay_prompts(config, [{"a": [1.0, 1.0]}], prompts=facts)[0]["next"] == ["b"]
    assert replay_prompts(config, [{"a": [0.0, 0.0]}], prompts=facts)[0]["next"] == ["a"]
    hard = {"name": "hierarchical", "buckets": ["level"]}
    more = {**facts, "a2": {"domain": "d", "level": 1}, "c2": {"domain": "d", "level": 3}}
    rates = replay_prompts(hard, [{"a": [1.0] * 20, "c": [0.0] * 20}], prompts=more)[0]["rates"]
    assert rates["a2"] > 0.8
    assert rates["c2"] < 0.2
    assert replay_prompts({"name": "none"}, []) == []
