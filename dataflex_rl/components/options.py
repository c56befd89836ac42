"""Types and ranges of options: a value from a configuration file against the annotation of the field it is for."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from dataflex_rl.errors import ConfigError

_NOUNS = {
    float: "a number",
    int: "an integer",
    bool: "true or false",
    str: "a string",
    type(None): "null",
    None: "null",
}


def convert(where: str, value: Any, annotation: Any) -> Any:
    """Return `value` as `annotation` wants it (an int for a float field becomes a float), else raise.

    Covers bool, int, float, str, None, Literal, unions, and mappings and sequences with their element types.
    A bool is never an int, a NaN never a float.
    """
    origin = get_origin(annotation)
    if annotation is Any:
        return value
    if origin in (Union, types.UnionType):
        return _union(where, value, get_args(annotation))
    if origin is Literal:
        if value in get_args(annotation) and not isinstance(value, bool):
            return value
        raise _wrong(where, value, words(annotation))
    base = origin or annotation
    if isinstance(base, type) and issubclass(base, Mapping):
        return _mapping(where, value, get_args(annotation))
    if isinstance(base, type) and issubclass(base, Sequence) and base is not str:
        return _sequence(where, value, base, get_args(annotation))
    return _scalar(where, value, annotation)


def words(annotation: Any) -> str:
    """Return in words what `convert` takes for an annotation."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(words(choice) for choice in get_args(annotation))
    if origin is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(annotation))
    base = origin or annotation
    if base in _NOUNS:
        return _NOUNS[base]
    if isinstance(base, type) and issubclass(base, Mapping):
        return "a mapping"
    return "a list" if isinstance(base, type) and issubclass(base, Sequence) else str(annotation)


def within(where: str, value: float, expected: str, ok: bool) -> None:
    """Raise the one-line range error unless `ok`."""
    if not ok:
        raise _wrong(where, value, expected)


def _scalar(where: str, value: Any, annotation: Any) -> Any:
    if annotation is None or annotation is type(None):
        if value is None:
            return None
        raise _wrong(where, value, words(annotation))
    if annotation is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if math.isnan(value):
            raise _wrong(where, value, "a number")
        return float(value)
    if isinstance(value, annotation) and not (isinstance(value, bool) and annotation is not bool):
        return value
    raise _wrong(where, value, words(annotation))


def _union(where: str, value: Any, choices: tuple[Any, ...]) -> Any:
    errors: list[str] = []
    for choice in choices:
        try:
            return convert(where, value, choice)
        except ConfigError as error:
            errors.append(str(error).rsplit("must be ", 1)[-1].rsplit(", got ", 1)[0])
    raise _wrong(where, value, " or ".join(errors))


def _mapping(where: str, value: Any, args: tuple[Any, ...]) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(where, value, words(Mapping))
    key_type, value_type = args or (Any, Any)
    return {
        convert(f"{where} key", key, key_type): convert(f"{where}.{key}", item, value_type)
        for key, item in value.items()
    }


def _sequence(where: str, value: Any, base: type, args: tuple[Any, ...]) -> Any:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise _wrong(where, value, words(Sequence))
    item_type = args[0] if args else Any
    items = [convert(f"{where}[{i}]", item, item_type) for i, item in enumerate(value)]
    return tuple(items) if base is tuple else items


def _wrong(where: str, value: Any, expected: str) -> ConfigError:
    return ConfigError(f"{where} must be {expected}, got {value!r}")
