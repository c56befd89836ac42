"""What a hook is, and whether one fits the installed verl and TransferQueue. The table of them is `hooks`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from types import CodeType
from typing import Any

from packaging.version import Version

from dataflex_rl.errors import ConfigError

SEEN = {
    "verl": ("0.9.0", "0.9.1"),
    "transfer_queue": ("0.1.10", "0.1.11"),
    "ray": ("2.60.0", "2.60.0"),
}  # first and last version looked at
_UNTYPED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NOT_OURS = ("self", "cls", "_ray_trace_ctx")  # the last one is added by Ray to the methods of an actor


class HookError(ConfigError):
    """The installed verl lacks something that this package builds on, or takes it with other parameters."""


@dataclass(frozen=True, kw_only=True)
class Hook:
    """One name. `owner` is `module` or `module:Class`; `first` and `last` are the versions seen with it.

    `how`: extended (a base class), overridden, implemented (an abstract member), called, value (read or set).
    """

    owner: str
    name: str
    how: str
    parameters: tuple[str, ...] = ()
    why: str
    first: str
    last: str

    @property
    def path(self) -> str:
        """The full dotted name."""
        return f"{self.owner.replace(':', '.')}.{self.name}"


def rows(owner: str, lines: Sequence[str], seen: tuple[str, str]) -> tuple[Hook, ...]:
    """Return the hooks of one module or class, from lines `names | how | parameters | why [| first version]`."""
    found = []
    for line in lines:
        names, how, parameters, why, *since = (part.strip() for part in line.split("|"))
        found += [
            Hook(owner=owner, name=name, how=how, parameters=tuple(parameters.split()), why=why,
                 first=since[0] if since else seen[0], last=seen[1])
            for name in names.split()
        ]  # fmt: skip
    return tuple(found)


def seen(owner: str, *lines: str) -> tuple[Hook, ...]:
    """Return the hooks of one module or class, with the versions of its library that were looked at."""
    return rows(owner, lines, SEEN[owner.partition(":")[0].partition(".")[0]])


def works_with(hooks: Iterable[Hook]) -> str:
    """Return the versions of verl that have every hook."""
    of_verl = [hook for hook in hooks if hook.owner.startswith("verl.")]
    first = max((hook.first for hook in of_verl), key=Version)
    last = min((hook.last for hook in of_verl), key=Version)
    return first if first == last else f"{first} to {last}"


def check(hooks: Sequence[Hook], *, works: str) -> None:
    """Refuse an installation that the hooks do not fit.

    Raises:
        HookError: one line with the first that does not fit, and the versions of verl that work.
    """
    found = list(misfits(hooks))
    if found:
        more = f"; {len(found) - 1} more do not fit" if len(found) > 1 else ""
        raise HookError(f"dataflex_rl works with verl {works}, found {metadata.version('verl')}: {found[0]}{more}")


def misfits(hooks: Iterable[Hook]) -> Iterator[str]:
    """Yield for each hook that does not fit what is wrong with it."""
    for hook in hooks:
        wrong = misfit(hook)
        if wrong is not None:
            yield f"{hook.path} {wrong} ({hook.how}: {hook.why})"


def misfit(hook: Hook) -> str | None:
    """Return what is wrong with a hook; None if it fits."""
    module, _, cls = hook.owner.partition(":")
    try:
        owner: Any = importlib.import_module(module)
    except ImportError as error:
        return f"cannot be imported: {' '.join(str(error).split())}"
    if cls:
        owner = getattr(owner, cls, None)
        if owner is None:
            return f"is missing with its class {cls}"
    if hook.how == "value":
        return None if hasattr(owner, hook.name) or (cls and mentions(plain_class(owner), hook.name)) else "is missing"
    found = inspect.getattr_static(plain_class(owner) if cls else owner, hook.name, None)
    if found is None:
        return "is missing"
    return None if hook.how == "extended" else _wrong_parameters(hook, found)


def plain_class(owner: Any) -> type:
    """Return the class itself, also where Ray made an actor of it."""
    cls: type = owner.__ray_metadata__.modified_class if hasattr(owner, "__ray_metadata__") else owner
    return cls


def mentions(cls: type, name: str) -> bool:
    """Say whether the class or one above it declares an attribute, or sets or reads it in its methods."""
    for base in cls.__mro__:
        members = [getattr(member, "__func__", member) for member in vars(base).values()]
        members += [part for member in members if isinstance(member, property) for part in (member.fget, member.fset)]
        codes = (getattr(inspect.unwrap(member), "__code__", None) for member in members if callable(member))
        if name in vars(base) or name in inspect.get_annotations(base):
            return True
        if any(name in _names(code) for code in codes if code is not None):
            return True
    return False


def _names(code: CodeType) -> set[str]:
    """Return the names of attributes and globals that a function, and what is defined in it, uses."""
    inner = (_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inner)


def _wrong_parameters(hook: Hook, found: Any) -> str | None:
    """Return how the parameters differ: all of what we override, those that we pass of what we call."""
    if isinstance(found, property):
        return None if hook.how == "implemented" else "is a property"
    function = getattr(found, "__func__", found)
    if not callable(function):
        return "is not callable"
    if isinstance(function, type) and not hook.parameters:
        return None
    every = inspect.signature(inspect.unwrap(function)).parameters.values()
    taken = [one for one in every if one.kind not in _UNTYPED and one.name not in _NOT_OURS]
    names = tuple(one.name for one in taken)
    fits = names == hook.parameters
    if hook.how == "called":
        required = {one.name for one in taken if one.default is one.empty}
        fits = tuple(name for name in names if name in hook.parameters) == hook.parameters
        fits = fits and required <= set(hook.parameters)
    return None if fits else f"takes ({', '.join(names)}), expected ({', '.join(hook.parameters)})"
