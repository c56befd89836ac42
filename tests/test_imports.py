"""Imports go one way: what each room may know, held against every import statement, also those inside of functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import dataflex_rl

ROOT = Path(dataflex_rl.__file__).parents[1]
VOCABULARY = {"errors", "output", "quiet", "seeding"}  # modules of the root that every room may import
ENTRIES = {"api", "cli", "demo", "evaluate", "plugin", "prepare", "run"}  # above all rooms: no room imports one
BELOW = [{"record"}, {"rewards"}, {"data"}]  # these know the vocabulary and those before them
ROOMS = [
    {"components"}, {"scorers", "actuators", "mixers", "prompts"}, {"policy"}, {"feed"}, {"config"}, {"runtime"},
    {"host"}, {"sweep"}, {"commands"},
]  # fmt: skip
RANK = {room: rank for rank, rooms in enumerate([VOCABULARY, *BELOW, *ROOMS, ENTRIES, {"__init__"}]) for room in rooms}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("dataflex_rl", "analysis")
    for path in sorted((ROOT / package).rglob("*.py"))
}


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, module of ours) for each import statement of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [part.name for part in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            both = [(f"{node.module}.{part.name}", str(node.module)) for part in node.names]
            names = [whole if whole in MODULES else module for whole, module in both]
        yield from ((node.lineno, name) for name in names if name in MODULES)


def room(module: str) -> str:
    """Return the room of a module of dataflex_rl: the folder, or the name of a module of the root."""
    return [*module.split("."), "__init__"][1]


def test_every_module_is_in_a_room_or_known_to_the_root() -> None:
    strangers = {room(module) for module in MODULES if module.startswith("dataflex_rl")} - set(RANK)
    assert strangers == set()


def test_imports_go_one_way() -> None:
    wrong = []
    for module, path in MODULES.items():
        for line, name in imported(path):
            ours, theirs = module.partition(".")[0], name.partition(".")[0]
            if ours == theirs == "dataflex_rl":
                fits = room(module) == room(name) or RANK[room(name)] < RANK[room(module)]
                fits |= {room(module), room(name)} <= ENTRIES or {room(module), room(name)} <= VOCABULARY
            else:  # analysis/ may take the definitions of a record, no one takes anything of analysis/
                fits = theirs == ours or (ours == "analysis" and room(name) == "record")
            if not fits and name != "dataflex_rl":  # the package itself tells where it is
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert wrong == []


def test_there_is_no_circle() -> None:
    """Each module can follow all that it imports; the `__init__` of a package only collects its modules."""
    graph = {
        module: {name for _, name in imported(path) if name != module and MODULES[name].name != "__init__.py"}
        for module, path in MODULES.items()
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES) > 200  # raises CycleError on a circle
