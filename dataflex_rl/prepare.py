"""`python -m dataflex_rl.prepare`: training tasks and benchmarks as parquet files, from the hub or from local files.

    python -m dataflex_rl.prepare benchmark=paper12
    python -m dataflex_rl.prepare task=multidomain3
    python -m dataflex_rl.prepare task=multidomain_science source=DIR against=none prompts=100 held_out=10
    python -m dataflex_rl.prepare task=text3 train_size=15000 seed=1 out=DIR

Settings, as KEY=VALUE:

- task or benchmark: one of them
- source: hub, or one file, or a folder with a file or folder per dataset, of which those files are read that name the
  split and configuration of the hub; not for text3 and text12, which are generated
- out: a folder of its own, replaced as a whole when everything is done; default: where the configuration of that name
  looks; a benchmark of the study gets a folder of its name in it
- seed: of the order of prompts and options; not for text12, which is the same for everyone
- against: of tasks, benchmarks whose overlap is removed: paper12, text12, one of the twelve, or none
- prompts, held_out: per domain, of the multidomain tasks, at least 1; train_size, val_size: of text3, multiples of 3
- any_size: true prepares benchmarks of the study with another number of items than the study's

Exit codes: 0 done, 2 refused, 130 interrupted. A folder that is not done is as it was before.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dataflex_rl.config.quoting import run_line
from dataflex_rl.data.cache import is_there
from dataflex_rl.data.catalogue import BUILT, TRAIN, VAL, data_root
from dataflex_rl.data.tasks.card import lines
from dataflex_rl.data.tasks.folder import home
from dataflex_rl.errors import ConfigError, unknown
from dataflex_rl.output import safe_output

_NUMBERS = ("seed", "prompts", "held_out", "train_size", "val_size")
_KEYS = ("task", "benchmark", "source", "out", "against", "any_size", *_NUMBERS)
_MOST = 2**32 - 1  # the largest seed; no size needs more
_TEXT3 = ("out", "seed", "against", "train_size", "val_size")
_TEXT12 = ("out",)
_MULTIDOMAIN = ("source", "out", "seed", "against", "prompts", "held_out")
_PAPER12 = ("source", "out", "seed", "any_size")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to prepare. None: the default of what is prepared."""

    task: str | None = None
    benchmark: str | None = None
    source: str = "hub"
    out: Path | None = None
    against: str | None = None
    any_size: bool = False
    seed: int = 0
    prompts: int | None = None
    held_out: int | None = None
    train_size: int | None = None
    val_size: int | None = None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    safe_output()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    try:
        for folder, facts in run(parse(arguments)):
            use = facts.pop("use", None)
            print("\n  ".join([str(folder), json.dumps(facts), *lines(folder), *([f"use: {use}"] if use else [])]))
    except ConfigError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; a folder that is not done is as it was before", file=sys.stderr)
        return 130
    return 0


def parse(arguments: Sequence[str]) -> Request:
    """Return the request of KEY=VALUE arguments.

    Raises:
        ConfigError: an unknown or repeated key, a number that is none, both or neither of task and benchmark, a setting
            that what is prepared does not have.
    """
    values: dict[str, Any] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or key not in _KEYS:
            raise unknown("setting", argument, (f"{name}=" for name in _KEYS))
        if key in values:
            raise ConfigError(f"{key} is set twice")
        values[key] = _value(key, value)
    if ("task" in values) == ("benchmark" in values):
        raise ConfigError("expected one of task=NAME and benchmark=NAME")
    request = Request(**values)
    _check_settings(request, values)
    return request


def _check_settings(request: Request, given: Iterable[str]) -> None:
    """Refuse settings that would be ignored; a name that is unknown is refused elsewhere."""
    from dataflex_rl.data.tasks.multidomain3 import TASKS

    if request.benchmark is not None:
        known: tuple[str, ...] = _TEXT12 if request.benchmark == "text12" else _PAPER12
    elif request.task in ("text3", *TASKS):
        known = _TEXT3 if request.task == "text3" else _MULTIDOMAIN
    else:
        return
    for name in given:
        if name not in ("task", "benchmark", *known):
            what = f"task={request.task}" if request.task else f"benchmark={request.benchmark}"
            raise ConfigError(f"{name}: is no setting of {what}, which takes {', '.join(known)}")


def _value(key: str, value: str) -> Any:
    if key in _NUMBERS:
        least = int(key in ("prompts", "held_out"))
        short = value.lstrip("0") or "0"
        if not value.isascii() or not value.isdigit() or len(short) > 10 or not least <= int(short) <= _MOST:
            shown = value if len(value) <= 20 else f"{value[:20]}..."
            raise ConfigError(f"{key}={shown!r}: expected an integer >= {least}, at most {_MOST}")
        return int(short)
    if key == "any_size":
        if value not in ("true", "false"):
            raise ConfigError(f"any_size={value!r}: expected true or false")
        return value == "true"
    if key in ("out", "source") and not value:
        raise ConfigError(f"{key}='': expected a folder{' or hub' if key == 'source' else ''}")
    return home(Path(value)) if key == "out" else value


def run(request: Request) -> list[tuple[Path, Any]]:
    """Prepare what is asked for; return the folders written and what to say of each.

    Raises:
        ConfigError: an unknown name, or whatever its preparation refuses.
    """
    from dataflex_rl.data.tasks.multidomain3 import TASKS

    if request.benchmark is not None:
        return _benchmark(request, request.benchmark)
    if request.task == "text3":
        return _text3(request)
    if request.task in TASKS:
        return _multidomain(request, request.task)
    raise unknown("task", request.task, ("text3", *TASKS))


def _benchmark(request: Request, name: str) -> list[tuple[Path, Any]]:
    from dataflex_rl.data.benchmarks import paper12, text12

    _check_benchmark("benchmark", name)
    if name == text12.SET:
        return [(request.out, text12.prepare(request.out))] if request.out else [_built(name, VAL)]
    root = request.out or data_root()
    each = list(dict.fromkeys((*paper12.names(name), name)))  # of a set: every member alone, then all together
    written = []
    for member in each:
        facts = paper12.prepare(
            root / member, member, source=request.source, seed=request.seed, any_size=request.any_size
        )
        written.append((root / member, facts))
    return written


def _multidomain(request: Request, task: str) -> list[tuple[Path, Any]]:
    from dataflex_rl.data.tasks import multidomain3

    sizes = {"prompts": request.prompts, "held_out": request.held_out}
    folder = request.out or data_root() / task
    overlap = multidomain3.prepare(
        folder,
        task,
        source=request.source,
        benchmarks=_against(request.against or "paper12"),
        seed=request.seed,
        **{name: size for name, size in sizes.items() if size is not None},
    )
    return [(folder, {"overlap": overlap, **({"use": run_line(task, folder)} if request.out else {})})]


def _text3(request: Request) -> list[tuple[Path, Any]]:
    from dataflex_rl.data.tasks import text3

    if request == Request(task="text3"):
        return [_built("text3", TRAIN)]
    sizes = {"train_size": request.train_size, "val_size": request.val_size}
    options = text3.Text3Options(seed=request.seed, **{name: size for name, size in sizes.items() if size is not None})
    folder = request.out or data_root() / "text3"
    overlap = text3.prepare(folder, options, _against(request.against or "text12"))
    return [(folder, {**asdict(options), "overlap": overlap, "use": run_line("text3", folder)})]


def _built(name: str, key: str) -> tuple[Path, Any]:
    """Build what `build:NAME` stands for; return its folder and what its card says."""
    source = BUILT[name]
    folder = source.places()[key].parent
    try:
        if not source.ready():
            source.make(True)
        return folder, json.loads((folder / "card.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{folder}: cannot be made or read ({str(error).splitlines()[0]})") from error


def _check_benchmark(kind: str, name: str, *more: str) -> None:
    from dataflex_rl.data.benchmarks import paper12, text12
    from dataflex_rl.data.benchmarks.specs import BENCHMARKS

    known = (paper12.SET, text12.SET, *BENCHMARKS, *more)
    if name not in known:
        raise unknown(kind, name, known)


def _against(name: str) -> list[Any]:
    """Return the benchmark items that training prompts must not overlap with."""
    from pyarrow import ArrowException

    from dataflex_rl.data.benchmarks import paper12, text12
    from dataflex_rl.data.tasks.items import read_items

    loaders: dict[str, Callable[[], list[Any]]] = {"none": list, text12.SET: text12.items}
    if name in loaders:
        return loaders[name]()
    _check_benchmark("against", name, "none")
    file = data_root() / name / paper12.FILE
    if not is_there(file):
        raise ConfigError(
            f"against={name}: {file} is not there; run first: python -m dataflex_rl.prepare benchmark={name}, or pass "
            "against=none to keep prompts that a benchmark also has"
        )
    try:
        return read_items(file)
    except (OSError, ArrowException, KeyError, TypeError) as error:
        raise ConfigError(f"against={name}: {file} cannot be read ({str(error).splitlines()[0]})") from error


if __name__ == "__main__":
    sys.exit(main())
