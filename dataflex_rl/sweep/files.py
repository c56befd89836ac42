"""A sweep file: one comparison, with its claim, its runs, and what it is estimated to cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dataflex_rl.config.naming import check_name
from dataflex_rl.config.paths import shipped
from dataflex_rl.errors import ConfigError, unknown
from dataflex_rl.sweep.seeds import parse_seeds

_KEYS = ("name", "claim", "tables", "controls", "methods", "seeds", "overrides", "vary", "estimate", "launcher", "ray",
         "design")  # fmt: skip
_ELSEWHERE = {"seed": "seeds:", "method": "methods:", "sweep": "name:", "runs_dir": "the command line"}
_REQUIRED = ("name", "claim", "controls", "methods", "seeds")
_ESTIMATE = ("response_tokens", "evaluation_items", "tokens_per_gpu_second", "seconds_per_run")


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What the cost of a sweep is estimated from; None: not estimated.

    Args:
        response_tokens: mean length of a response. [tokens]
        evaluation_items: items answered by the untrained and by the trained model.
        tokens_per_gpu_second: generated, scored and trained tokens per second of one GPU, by model name.
        seconds_per_run: for runs without a GPU, with as many at once as a machine of 2 cores takes. [s]
    """

    response_tokens: float | None = None
    evaluation_items: int = 0
    tokens_per_gpu_second: Mapping[str, float] = field(default_factory=dict)
    seconds_per_run: float | None = None


@dataclass(frozen=True, kw_only=True)
class SweepFile:
    """The content of a sweep file, or of a command line that stands for a sweep (`controls` is then empty).

    `vary` holds lists of overrides; each list is one variant of every run.
    """

    name: str
    claim: str = ""
    tables: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    overrides: tuple[str, ...] = ()
    vary: tuple[tuple[str, ...], ...] = ((),)
    estimate: Estimate = field(default_factory=Estimate)
    launcher: Mapping[str, Any] = field(default_factory=dict)
    design: Mapping[str, Any] = field(default_factory=dict)  # checked in `design`


class _Loader(yaml.SafeLoader):
    """YAML in which a key stands once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise yaml.YAMLError(f"the key {double} stands there twice")
        return super().construct_mapping(node, deep)


def find_sweep(name: str) -> Path:
    """Return the file of a sweep: a path, or the name of a shipped one.

    Raises:
        ConfigError: neither; lists the shipped ones.
    """
    path = Path(name).expanduser()
    if path.suffix in (".yaml", ".yml"):
        if path.is_file():
            return path
        raise ConfigError(f"sweep file {name}: no such file")
    known = {found.stem: found for found in shipped("sweeps").glob("*.yaml")}
    if name not in known:
        raise unknown("sweep", name, known)
    return known[name]


def read_sweep(path: Path) -> SweepFile:
    """Return a checked sweep file.

    Raises:
        ConfigError: it cannot be read, an unknown or missing key, a wrong type, a method or seed named twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = yaml.load(text, Loader=_Loader)
        written = yaml.load(text, Loader=yaml.BaseLoader)  # in which 010 is no 8
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"sweep file {path}: cannot be read ({' '.join(str(error).split())})") from None
    if not isinstance(content, dict):
        raise ConfigError(f"sweep file {path}: expected keys {', '.join(_KEYS)}; got a {type(content).__name__}")
    for key in content:
        if key not in _KEYS:
            raise ConfigError(f"sweep file {path}: {unknown('sweep key', key, _KEYS)}")
    missing = [key for key in _REQUIRED if not content.get(key) and content.get(key) != 0]
    if missing:
        raise ConfigError(f"sweep file {path}: lacks {', '.join(missing)}")
    try:
        return _checked({**content, "seeds": written.get("seeds", content["seeds"])})
    except ConfigError as error:
        raise ConfigError(f"sweep file {path}: {error}") from None


def _checked(content: Mapping[str, Any]) -> SweepFile:
    methods, controls = _texts(content, "methods"), _texts(content, "controls")
    double = sorted({name for name in methods if methods.count(name) > 1})
    if double:
        raise ConfigError(f"methods names {', '.join(double)} twice")
    return SweepFile(
        name=check_name("name", content["name"]),
        claim=str(content["claim"]).strip(),
        tables=_texts(content, "tables"),
        controls=controls,
        methods=methods,
        seeds=parse_seeds(",".join(map(str, _list(content["seeds"])))),
        overrides=_overrides(_texts(content, "overrides")),
        vary=_vary(content.get("vary")),
        estimate=_estimate(_mapping(content, "estimate")),
        launcher=_mapping(content, "launcher") | _ray(_mapping(content, "ray")),
        design=_mapping(content, "design"),
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _texts(content: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = content.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{key}={value!r}: expected a list of texts")
    return tuple(value)


def _overrides(items: Sequence[str]) -> tuple[str, ...]:
    for item in items:
        key = item.partition("=")[0].lstrip("+~")
        if key in _ELSEWHERE:
            raise ConfigError(f"override {item!r}: set {key} by {_ELSEWHERE[key]}")
    return tuple(items)


def _mapping(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key) or {}
    if not isinstance(value, dict):
        raise ConfigError(f"{key}={value!r}: expected keys with values")
    return value


def _vary(value: Any) -> tuple[tuple[str, ...], ...]:
    if value is None:
        return ((),)
    expected = "expected a list of lists of overrides, one list per variant"
    if not isinstance(value, list) or not value:
        raise ConfigError(f"vary={value!r}: {expected}")
    for variant in value:
        if not isinstance(variant, list) or not all(isinstance(item, str) and "=" in item for item in variant):
            raise ConfigError(f"vary: {variant!r}: {expected}")
    return tuple(_overrides(variant) for variant in value)


def _ray(settings: Mapping[str, Any]) -> dict[str, Any]:
    for key in settings:
        if key != "address":
            raise unknown("ray setting", key, ("address",))
    return dict(settings)


def _estimate(settings: Mapping[str, Any]) -> Estimate:
    for key, value in settings.items():
        if key not in _ESTIMATE:
            raise unknown("estimate", key, _ESTIMATE)
        by_model = key == "tokens_per_gpu_second"
        numbers: Sequence[Any] = list(value.values()) if by_model and isinstance(value, dict) else [value]
        if not all(isinstance(n, int | float) and not isinstance(n, bool) and 0 < n < math.inf for n in numbers) or (
            by_model and not isinstance(value, dict)
        ):
            expected = "a number above 0 for each model" if by_model else "a number above 0"
            raise ConfigError(f"estimate.{key}={value!r}: expected {expected}")
    return Estimate(**settings)
