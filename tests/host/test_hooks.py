"""The table of verl's names: it fits the installed verl and is complete; a renamed hook refuses the installation."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dataflex_rl.host import hook_check
from dataflex_rl.host.hook_check import Hook, HookError, check, mentions, misfit, misfits, works_with
from dataflex_rl.host.hooks import AT_START, HOOKS
from dataflex_rl.host.trainer import DataflexSyncTrainer
from dataflex_rl.policy import Policy
from tests.host.test_plugin import python

PACKAGE = Path(hook_check.__file__).parents[1]
FILES = [*PACKAGE.glob("host/**/*.py"), PACKAGE / "plugin.py", PACKAGE / "runtime" / "start" / "instance.py"]
SOURCES = {path: ast.parse(path.read_text()) for path in FILES}
TABLE = {(hook.owner, hook.name) for hook in HOOKS}
DIFFFILTER = {"scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter"}}
LIBRARIES = ("verl", "transfer_queue")


class Trainer:
    """A stand-in for a class of verl."""

    limit: int

    def __init__(self, config: object) -> None:
        self.config = config

    def weigh(self, batch: object, metrics: object, scale: float = 1.0) -> None:
        """Weigh."""

    @property
    def device(self) -> str:
        """Device."""
        return str(self.config)


def hook(name: str, how: str = "overridden", parameters: str = "") -> Hook:
    return Hook(
        owner=f"{__name__}:Trainer", name=name, how=how, parameters=tuple(parameters.split()), why="tests",
        first="1", last="2",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "how", "parameters", "wrong"),
    [
        ("weigh", "overridden", "batch metrics scale", None),
        ("weigh", "overridden", "batch metrics", "takes (batch, metrics, scale), expected (batch, metrics)"),
        ("weigh", "called", "batch metrics", None),  # scale has a default
        ("weigh", "called", "batch", "takes (batch, metrics, scale), expected (batch)"),  # metrics has none
        ("weigh", "called", "batch metrics factor",
         "takes (batch, metrics, scale), expected (batch, metrics, factor)"),
        ("weigh", "called", "metrics batch", "takes (batch, metrics, scale), expected (metrics, batch)"),
        ("weight", "overridden", "batch metrics", "is missing"),
        ("device", "implemented", "", None),
        ("device", "called", "", "is a property"),
        ("config", "value", "", None),  # set in __init__
        ("limit", "value", "", None),  # declared
        ("device", "value", "", None),
        ("steps", "value", "", "is missing"),
    ],
)  # fmt: skip
def test_a_hook_is_held_against_a_class(name: str, how: str, parameters: str, wrong: str | None) -> None:
    assert misfit(hook(name, how, parameters)) == wrong


def test_missing_modules_and_classes_are_named() -> None:
    assert misfit(replace(hook("x"), owner="verl.no_such_module")) == (
        "cannot be imported: No module named 'verl.no_such_module'"
    )
    assert misfit(replace(hook("x"), owner=f"{__name__}:Gone")) == "is missing with its class Gone"
    assert misfit(replace(hook("HOOKS"), owner=__name__)) == "is not callable"


def test_a_refusal_is_one_line_with_the_versions_that_work() -> None:
    wrong = [hook("weight"), hook("steps", "value")]
    with pytest.raises(HookError) as error:
        check([hook("weigh", "called", "batch metrics"), *wrong], works="0.9.1")
    line = str(error.value)
    assert line.startswith("dataflex_rl works with verl 0.9.1, found ")
    assert line.endswith(f": {__name__}.Trainer.weight is missing (overridden: tests); 1 more do not fit")


def test_the_versions_that_work_have_every_hook() -> None:
    of_verl = [replace(hook("x"), owner="verl.a", first=first, last="0.10.0") for first in ("0.9.9", "0.9.10")]
    assert works_with([*of_verl, replace(hook("x"), owner="transfer_queue", first="9", last="9")]) == "0.9.10 to 0.10.0"
    assert works_with([replace(of_verl[0], last="0.9.9")]) == "0.9.9"
    assert works_with(HOOKS) == "0.9.1"


def test_every_hook_fits_the_installed_verl() -> None:
    assert list(misfits(HOOKS)) == []
    assert len(TABLE) == len(HOOKS) > 100


def test_a_renamed_hook_stops_the_trainer_instead_of_leaving_the_policy_out() -> None:
    """verl's class without the method that the policy overrides, as a later release might have it."""
    code = (
        "import os\n"
        "os.environ['VERL_USE_EXTERNAL_PLUGINS'] = 'none'\n"
        "from verl.trainer.ppo.v1.trainer_base import PPOTrainer\n"
        "from verl.trainer.ppo.v1 import get_trainer_cls\n"
        "PPOTrainer._compute_advantages = PPOTrainer._compute_advantage\n"
        "del PPOTrainer._compute_advantage\n"
        "import dataflex_rl.plugin\n"
        "try:\n"
        "    get_trainer_cls('dataflex_sync')(config=None)\n"
        "except RuntimeError as error:\n"
        "    print('REFUSED', error)\n"
    )
    done = python(code)
    said = [line for line in done.stdout.splitlines() if "_compute_advantage" in line]
    assert len(said) == 2, done.stdout + done.stderr[-1500:]
    assert said[0].startswith("dataflex_rl: dataflex_rl works with verl 0.9.1, found ")
    assert "trainer_base.PPOTrainer._compute_advantage is missing (overridden: the policy weighs the batch" in said[0]
    assert said[1].startswith("REFUSED dataflex_rl works with verl 0.9.1, found ")


def test_a_step_that_the_policy_missed_ends_the_training() -> None:
    """verl ends a step with its metrics; had it not called the policy since step 2, step 3 must not pass."""
    trainer = object.__new__(DataflexSyncTrainer)
    trainer.policy, trainer._decided, trainer.global_steps = Policy.from_config(DIFFFILTER), 2, 3
    with pytest.raises(RuntimeError, match="the policy 'difffilter' was not applied at step 3: verl trained on"):
        trainer._compute_metrics(None, {})


# ---------------------------------------------------------------- the table is complete


def ours() -> Iterator[tuple[type, list[type]]]:
    """Yield each class of host/ that extends classes of the libraries, with those."""
    for path in PACKAGE.glob("host/**/*.py"):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(name)
        for cls in vars(module).values():
            if not inspect.isclass(cls) or cls.__module__ != name:
                continue
            bases = [base for base in cls.__mro__ if base.__module__.partition(".")[0] in LIBRARIES]
            if bases:
                yield cls, bases


def test_every_member_that_a_class_of_ours_overrides_or_uses_is_in_the_table() -> None:
    absent, seen = [], 0
    for cls, bases in ours():
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
        named = {
            node.attr for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        }  # fmt: skip
        hidden = {"__module__", "__doc__", "__parameters__", "__orig_bases__", "__abstractmethods__", "_abc_impl"}
        for name in sorted((named | set(vars(cls))) - hidden):
            inherited = any(mentions(base, name) for base in bases if name != "__init__" or "__init__" in vars(base))
            if name.startswith("__") and not any(name in vars(base) for base in bases):
                continue
            if inherited:
                seen += 1
                if not any((f"{base.__module__}:{base.__name__}", name) in TABLE for base in bases):
                    absent.append(f"{cls.__name__}.{name} ({bases[0].__module__})")
    assert absent == []
    assert seen > 60


def test_every_imported_name_is_in_the_table() -> None:
    absent, seen = [], 0
    for path, tree in SOURCES.items():
        aliases: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                aliases |= {part.asname or part.name: part.name for part in node.names}
            if not isinstance(node, ast.ImportFrom):
                continue
            if not str(node.module).startswith("ray._") and str(node.module).partition(".")[0] not in LIBRARIES:
                continue
            for part in node.names:
                if inspect.ismodule(getattr(importlib.import_module(str(node.module)), part.name)):
                    aliases[part.asname or part.name] = f"{node.module}.{part.name}"
                    continue
                seen += 1
                absent += [] if (node.module, part.name) in TABLE else [f"{path.name}: {node.module}.{part.name}"]
        libraries = {alias: name for alias, name in aliases.items() if name.partition(".")[0] in LIBRARIES}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in libraries:
                seen += 1
                used = (libraries[node.value.id], node.attr)
                absent += [] if used in TABLE else [f"{path.name}: {'.'.join(used)}"]
    assert absent == []
    assert seen > 60


def test_every_private_name_is_ours_or_in_the_table() -> None:
    absent, seen = [], 0
    trees = list(SOURCES.items())
    defined = set()
    for node in (node for _, tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    names = {name for _, name in TABLE}
    for path, tree in trees:
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
                continue
            python_own = isinstance(node.value, ast.Name) and node.value.id in ("os", "sys", "atexit")
            if python_own or (node.attr.startswith("__") and not node.attr.startswith("__ray_")):
                continue
            seen += 1
            if node.attr not in defined | names | {
                "__ray_call__",
                "_attn_implementation",
            }:  # Ray documents it; transformers
                absent.append(f"{path.name}:{node.lineno} {node.attr}")
    assert absent == []
    assert seen > 60


def test_no_row_is_stale() -> None:
    """Each name of the table occurs in the code that the table speaks of."""
    text = "".join(path.read_text() for path in SOURCES if not path.name.startswith("hook"))
    assert [one.path for one in HOOKS if one.name not in text] == []
    assert all(one.owner.partition(":")[0] in text for one in AT_START)
