"""Policy code imports torch only; the example package installs and runs beside it; the tutorial prints its numbers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ("verl", "ray", "transfer_queue", "tensordict", "hydra", "omegaconf", "transformers", "pandas", "wandb")
BLOCKED = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HOSTS}:
            raise ImportError(name + " is not installed")
sys.meta_path.insert(0, Blocked())
"""


def python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd="/", env={**os.environ, **env}, check=False
    )


def test_scorers_and_actuators_import_torch_only() -> None:
    code = BLOCKED + (
        "import dataflex_rl.scorers, dataflex_rl.actuators, dataflex_rl.policy\n"
        "roots = {name.partition('.')[0] for name in sys.modules}\n"
        f"print(sorted(roots & set({HOSTS})))\n"
        "from dataflex_rl import apply_policy\n"
        "data = {'uid': ['a', 'a'], 'reward': [0, 1], 'advantages': [[1.0]] * 2, 'old_log_probs': [[-1.0]] * 2}\n"
        "for method in 'uniform difffilter maxvar gfpo topk ar per softmax diffband'.split():\n"
        "    print(method, len(apply_policy({'method': method}, data).weights))\n"
    )
    ran = python(code)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "[]"
    assert len(ran.stdout.splitlines()) == 10


def test_importing_the_package_is_cheap() -> None:
    ran = python("import sys, dataflex_rl; print('torch' in sys.modules)")
    assert ran.stdout == "False\n", ran.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, installed by pip into a folder of its own."""
    source, target = tmp_path_factory.mktemp("source") / "length_policy", tmp_path_factory.mktemp("target")
    shutil.copytree(ROOT / "examples" / "length_policy", source)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*install, "--target", str(target), str(source)], check=True, capture_output=True)
    return target


def test_the_example_package_is_found_and_listed(installed: Path) -> None:
    ran = python("from dataflex_rl.commands.listing import main; main(['--json'])", PYTHONPATH=str(installed))
    parts = {part["name"]: part for part in json.loads(ran.stdout)}
    assert parts["brevity"]["requires"] == ["response_mask", "uid"]
    assert parts["keep_above"]["defaults"] == {"floor": 0.5}
    assert (parts["hardest_first"]["kind"], parts["hardest_first"]["timing"]) == ("prompts", "pre_rollout")


def test_the_example_packages_own_tests_pass(installed: Path) -> None:
    test = ROOT / "examples" / "length_policy" / "test_length_policy.py"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(test)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(installed)}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "6 passed" in ran.stdout


def test_without_the_package_its_names_are_unknown() -> None:
    code = (
        "from dataflex_rl import apply_policy\n"
        "apply_policy({'scorer': {'name': 'brevity'}, 'actuator': {'name': 'keep_above'}}, {})"
    )
    ran = python(code)
    assert ran.returncode == 1
    assert "unknown actuator 'keep_above'; known: ar, diffband, " in ran.stderr


def test_the_tutorial_prints_what_it_claims() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "tutorial.py")], capture_output=True, text=True, check=True
    )
    rows = {line[:16].strip(): line.split() for line in ran.stdout.splitlines()}
    # reward_effective is the last column: 6 of 10 solved; 2 of the 5 that difffilter keeps
    assert (rows["uniform"][-1], rows["difffilter"][-1]) == ("0.60", "0.40")
    assert "has no parameter 'lo'; known: high, low" in ran.stdout
