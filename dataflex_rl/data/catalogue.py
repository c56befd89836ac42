"""The sources a configuration can name in place of a path: `build:NAME` is made here, `prepared:NAME` was before.

A source has a place for each configuration key it can stand at. What is made here needs no download: it is built once,
from a seed or an installed package, into the user's cache.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from dataflex_rl.data.cache import default_root, entry_path, get_or_build, is_complete, is_there
from dataflex_rl.data.progress import watched
from dataflex_rl.data.tiny.build import build, is_built, tiny_paths
from dataflex_rl.errors import ConfigError

MODEL = "actor_rollout_ref.model.path"
TRAIN, VAL = "data.train_files", "data.val_files"
DATA_VARIABLE = "DATAFLEX_RL_DATA"  # names the folder of prepared data; default: in the user's cache
DOMAINS = ("math", "logic", "science")
_SOURCES = {
    "math": ("gsm8k", "deepscaler", "dapo_math_17k"),
    "logic": ("knights_and_knaves",),
    "science": ("sciq",),
}
_TASKS = {"multidomain3": DOMAINS, **{f"multidomain_{domain}": (domain,) for domain in DOMAINS}}


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """One source.

    places: {configuration key: path}. ready: whether the paths are there. make: (show progress) makes them.
    values: {column: its values in the training data}, known before anything is made.
    """

    places: Callable[[], Mapping[str, Path]]
    ready: Callable[[], bool]
    make: Callable[[bool], None]
    values: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


def data_root() -> Path:
    """Return the folder of prepared data."""
    from dataflex_rl.data.tasks.folder import home

    given = os.environ.get(DATA_VARIABLE)
    return home(Path(given)) if given else default_root() / "prepared"


def _tiny(*keys: str) -> Embedded:
    def places() -> dict[str, Path]:
        paths = tiny_paths()
        every = {MODEL: paths.model, TRAIN: paths.train, VAL: paths.val}
        return {key: every[key] for key in keys}

    def make(shown: bool) -> None:
        build(progress=shown)

    values = _domain_values(DOMAINS, DOMAINS) if TRAIN in keys else {}
    return Embedded(places=places, ready=lambda: is_built(tiny_paths()), make=make, values=values)


def _domain_values(domains: tuple[str, ...], sources: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {"domain": domains, "ability": domains, "data_source": sources}


def _cached(
    kind: str,
    files: tuple[str, ...],
    keys: Mapping[str, str],
    facts: Callable[[], Mapping[str, object]],
    write: Callable[[Path], None],
    values: Mapping[str, tuple[str, ...]] | None = None,
) -> Embedded:
    """Return a source that is one entry of the cache; `keys` maps a configuration key to a file of it ("" for all)."""

    def entry() -> Path:
        return entry_path(default_root(), kind, facts())

    def make(shown: bool) -> None:
        with watched(kind, shown=shown) as state:

            def make_one(folder: Path) -> None:
                state.starting()
                write(folder)

            get_or_build(entry(), files, make_one, waiting=state.waiting)

    return Embedded(
        places=lambda: {key: entry() / file for key, file in keys.items()},
        ready=lambda: is_complete(entry(), files),
        make=make,
        values=values or {},
    )


def _generator_versions() -> dict[str, object]:
    from dataflex_rl.data.tasks.generated import VERSION

    return {"version": VERSION, **{name: metadata.version(name) for name in ("reasoning-gym", "periodictable")}}


def _text3_facts() -> dict[str, object]:
    from dataflex_rl.data.tasks.text3 import Text3Options

    return {**dataclasses.asdict(Text3Options()), **_generator_versions()}


def _make_text3(folder: Path) -> None:
    from dataflex_rl.data.benchmarks import text12
    from dataflex_rl.data.tasks import text3

    text3.write(folder, text3.Text3Options(), text12.items())


def _make_text12(folder: Path) -> None:
    from dataflex_rl.data.benchmarks import text12

    text12.write(folder)


def _smollm2_facts() -> dict[str, object]:
    from dataflex_rl.data.models import smollm2

    return {"version": smollm2.VERSION, "package": smollm2.package_version()}


def _make_smollm2(folder: Path) -> None:
    from dataflex_rl.data.models import smollm2

    smollm2.convert(folder)


_SMOLLM2_FILES = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)
_TEXT3_FILES = ("train.parquet", "val.parquet", "card.json")

BUILT: dict[str, Embedded] = {
    "tiny": _tiny(MODEL),
    "toy3": _tiny(TRAIN, VAL),
    "text3": _cached(
        "text3",
        _TEXT3_FILES,
        {TRAIN: "train.parquet", VAL: "val.parquet"},
        _text3_facts,
        _make_text3,
        _domain_values(DOMAINS, tuple(f"text_{domain}" for domain in DOMAINS)),
    ),
    "text12": _cached(
        "text12", ("test.parquet", "card.json"), {VAL: "test.parquet"}, _generator_versions, _make_text12
    ),
    "smollm2_135m": _cached("smollm2_135m", _SMOLLM2_FILES, {MODEL: ""}, _smollm2_facts, _make_smollm2),
}


def prepared(name: str) -> Embedded:
    """Return the source of data that `dataflex_rl.prepare` writes: ready once its whole folder is there."""
    from dataflex_rl.data.tasks.card import is_whole

    folder = data_root() / name
    is_task = name in _TASKS or is_there(folder / "train.parquet")
    files = {TRAIN: "train.parquet", VAL: "val.parquet"} if is_task else {VAL: "test.parquet"}
    places = {key: folder / file for key, file in files.items()}

    def make(shown: bool) -> None:
        kind = "task" if is_task else "benchmark"
        raise ConfigError(
            f"{name!r} is not prepared: {', '.join(map(str, places.values()))} are not all there; "
            f"run: python -m dataflex_rl.prepare {kind}={name}"
        )

    domains = _TASKS.get(name, ())
    sources = tuple(source for domain in domains for source in _SOURCES[domain])
    return Embedded(
        places=lambda: places,
        ready=lambda: all(is_there(path) for path in places.values()) and is_whole(folder),
        make=make,
        values=_domain_values(domains, sources) if domains else {},
    )
