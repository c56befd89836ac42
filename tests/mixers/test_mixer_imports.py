"""Mixers and replay_mixer need torch only, not a host."""

from __future__ import annotations

import subprocess
import sys

HOSTS = ("verl", "ray", "transfer_queue", "tensordict", "hydra", "omegaconf", "transformers", "pandas", "pyarrow")
CODE = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HOSTS}:
            raise ImportError(name + " is not installed")
sys.meta_path.insert(0, Blocked())
import dataflex_rl
assert "torch" not in sys.modules
step = {{"a": {{"reward": [0.0], "advantage": [1.0]}}, "b": {{"reward": [1.0], "advantage": [0.5]}}}}
for name in ("static", "reward_gap", "dump_ucb", "tscl"):
    print(name, sorted(dataflex_rl.replay_mixer({{"name": name}}, [step])[0]))
import dataflex_rl.feed.measure, dataflex_rl.feed.mixer_feed
"""


def test_mixers_import_torch_only() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd="/", check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [f"{name} ['a', 'b']" for name in ("static", "reward_gap", "dump_ucb", "tscl")]
