"""Whatever of the package is imported first, in a fresh process: verl's registry has our trainers afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

import dataflex_rl
from dataflex_rl.plugin import TRAINERS
from tests.host.test_plugin import python

ROOT = Path(dataflex_rl.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if path.name != "__main__.py"
)
FIRST = (
    "dataflex_rl.host.cpu.workers",
    "dataflex_rl.host.agent_loop",
    "dataflex_rl.plugin",
)  # by Ray, by verl, by hand
CODE = """
import sys
import {module}
loaded = "verl" in sys.modules
if loaded:
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY
    print("TRAINERS", *(f"{{name}}={{TRAINER_REGISTRY[name].__module__}}" for name in {trainers}))
print("VERL", loaded)
"""
REGISTERED = "TRAINERS dataflex_sync=dataflex_rl.host.trainer dataflex_mix_sync=dataflex_rl.host.trainer"


def imported_first(module: str) -> list[str]:
    """Return what a process prints that imports a module before anything else."""
    done = python(CODE.format(module=module, trainers=TRAINERS))
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("module", FIRST)
def test_the_trainers_are_registered(module: str) -> None:
    lines = imported_first(module)
    assert lines == [REGISTERED, "VERL True"]


@pytest.mark.slow
@pytest.mark.parametrize("module", [name for name in MODULES if name not in FIRST])
def test_any_module_may_come_first(module: str) -> None:
    lines = imported_first(module)
    if module.startswith("dataflex_rl.host"):
        assert lines == [REGISTERED, "VERL True"]
    else:
        assert lines == ["VERL False"]
