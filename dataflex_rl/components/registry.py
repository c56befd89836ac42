"""Components by name: scorers, actuators, mixers and prompt selectors, ours and third parties'.

A component is a dataclass: its fields are its options, its defaults the vetted setting, its `__post_init__` the range
check. It registers itself with a decorator and is built from configuration by `build`, which refuses an unknown name or
parameter with the list of what exists. Other packages add components through the entry-point group
`dataflex_rl.components`; each entry is a module or object whose import registers them.
"""

from __future__ import annotations

import dataclasses
import importlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Literal, TypeVar, get_type_hints

from dataflex_rl.components.options import convert
from dataflex_rl.errors import ConfigError, unknown

Role = Literal["scorer", "actuator", "mixer", "prompt selector"]
Kind = Literal["scorer", "select", "reweight", "mix", "prompts"]
T = TypeVar("T")

ENTRY_POINTS = "dataflex_rl.components"
TIMINGS = ("pre_rollout", "post_reward", "post_advantage", "in_loss")
GRANULARITIES = ("domain", "prompt", "response", "token")
_BUILTIN = ("dataflex_rl.scorers", "dataflex_rl.actuators", "dataflex_rl.mixers", "dataflex_rl.prompts")
ROLES: dict[Kind, Role] = {
    "scorer": "scorer", "select": "actuator", "reweight": "actuator", "mix": "mixer", "prompts": "prompt selector",
}  # fmt: skip
# What a third party's import can raise; anything else (an interrupt, a memory error) is not about the component.
_IMPORT_ERRORS = (
    ImportError, AttributeError, NameError, TypeError, ValueError, LookupError, RuntimeError, SyntaxError, OSError,
    ArithmeticError, AssertionError,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What a component declares, so that a host is checked before anything starts.

    `kind` is scorer, select, reweight, mix or prompts. `granularity` is what a scorer gives, or all that an actuator
    takes. `requires` names fields of verl's batch. `needs_groups`: a scorer that is valid only for group estimators
    with n > 1, or an actuator that acts inside groups (n > 1).
    """

    name: str
    kind: Kind
    granularity: tuple[str, ...]
    requires: tuple[str, ...]
    timing: str
    needs_groups: bool
    stateful: bool
    cls: type[Any]

    @property
    def role(self) -> Role:
        """The registry the component stands in."""
        return ROLES[self.kind]

    @property
    def summary(self) -> str:
        """First line of the component's docstring."""
        return (self.cls.__doc__ or "").strip().split("\n")[0]

    @property
    def defaults(self) -> dict[str, Any]:
        """Options with their defaults; an option without one has the value `dataclasses.MISSING`."""
        return {field.name: _default(field) for field in dataclasses.fields(self.cls) if field.init}


_SPECS: dict[tuple[Role, str], Spec] = {}
_LOCK = threading.RLock()
_loaded: set[str] = set()


def register_scorer(
    name: str,
    *,
    granularity: str,
    requires: Iterable[str] = (),
    timing: str = "post_reward",
    needs_groups: bool = False,
    stateful: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Register a scorer: `__call__(batch: Batch) -> score_B` (or `score_N` when granularity is token).

    `timing`: from when on its fields are there, post_advantage if it reads advantages or old_log_probs. A scorer whose
    fields depend on its options says them in `fields()`.
    """
    return _register("scorer", name, (granularity,), requires, timing, needs_groups, stateful)


def register_actuator(
    name: str,
    *,
    kind: Literal["select", "reweight"],
    granularity: Iterable[str],
    requires: Iterable[str] = (),
    needs_groups: bool = False,
    stateful: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Register a selector (`__call__(pool: Pool) -> Selection`) or a reweighter (`__call__(pool) -> raw weights`).

    `granularity` lists every score granularity it takes; a reweighter that takes token scores gets a `TokenPool`
    and returns one raw weight per token, all others return one per response.
    """
    return _register(kind, name, tuple(granularity), requires, "post_advantage", needs_groups, stateful)


def register_mixer(
    name: str,
    *,
    requires: Iterable[str] = (),
    timing: str = "pre_rollout",
    granularity: str = "domain",
    needs_groups: bool = False,
    stateful: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Register a mixer: a rule from domain statistics to shares (its interface is `dataflex_rl.mixers`')."""
    return _register("mix", name, (granularity,), requires, timing, needs_groups, stateful)


def register_prompt_selector(
    name: str, *, requires: Iterable[str] = ("rm_scores", "uid")
) -> Callable[[type[T]], type[T]]:
    """Register a prompt selector: a rule that chooses prompts before the rollout (interface: `dataflex_rl.prompts`)."""
    return _register("prompts", name, ("prompt",), requires, "pre_rollout", False, False)


def _register(
    kind: Kind,
    name: str,
    granularity: tuple[str, ...],
    requires: Iterable[str],
    timing: str,
    needs_groups: bool,
    stateful: bool,
) -> Callable[[type[T]], type[T]]:
    def decorate(cls: type[T]) -> type[T]:
        if not dataclasses.is_dataclass(cls):
            raise ConfigError(f"{kind} {name!r}: {cls.__name__} must be a dataclass whose fields are its parameters")
        if timing not in TIMINGS:
            raise ConfigError(f"{kind} {name!r}: timing {timing!r} is none of {', '.join(TIMINGS)}")
        for grain in granularity:
            if grain not in GRANULARITIES:
                raise ConfigError(f"{kind} {name!r}: granularity {grain!r} is none of {', '.join(GRANULARITIES)}")
        if stateful and not (hasattr(cls, "state_dict") and hasattr(cls, "load_state_dict")):
            raise ConfigError(f"{kind} {name!r}: stateful, but {cls.__name__} lacks state_dict or load_state_dict")
        spec = Spec(
            name=name, kind=kind, granularity=granularity, requires=tuple(requires), timing=timing,
            needs_groups=needs_groups, stateful=stateful, cls=cls,
        )  # fmt: skip
        old = _SPECS.get((spec.role, name))
        if old is not None and (old.cls.__module__, old.cls.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ConfigError(f"{spec.role} {name!r} of {cls.__module__} is already taken by {old.cls.__module__}")
        _SPECS[spec.role, name] = spec
        return cls

    return decorate


def lookup(role: Role, name: str) -> Spec:
    """Return the component's declaration; an unknown name is an error that lists what exists."""
    _load()
    if (role, name) not in _SPECS:
        raise unknown(role, name, names(role))
    return _SPECS[role, name]


def names(role: Role) -> list[str]:
    """All registered names of one role, sorted."""
    _load()
    return sorted(name for kind, name in _SPECS if kind == role)


def build(role: Role, name: str, params: Mapping[str, Any] | None = None) -> Any:
    """Build the component `name` with `params` over its defaults.

    Raises:
        ConfigError: unknown name, unknown parameter (lists the known ones), wrong type, value out of range.
    """
    spec = lookup(role, name)
    params = {} if params is None else params
    if not isinstance(params, Mapping):
        raise ConfigError(f"{role} {name!r}: params must be a mapping, got {params!r}")
    known = spec.defaults
    for key in params:
        if key not in known:
            known_names = ", ".join(sorted(known)) or "(it has none)"
            raise ConfigError(f"{role} {name!r} has no parameter {key!r}; known: {known_names}")
    missing = [key for key, value in known.items() if value is dataclasses.MISSING and key not in params]
    if missing:
        raise ConfigError(f"{role} {name!r} needs the parameter {missing[0]!r}")
    hints = get_type_hints(spec.cls)
    return spec.cls(**{key: convert(f"{role} {name!r}: {key}", value, hints[key]) for key, value in params.items()})


def describe() -> list[dict[str, Any]]:
    """All components as plain dicts (name, kind, granularity, requires, timing, ..., defaults, summary), sorted."""
    _load()
    order = list(ROLES)
    specs = sorted(_SPECS.values(), key=lambda spec: (order.index(spec.kind), spec.name))
    return [
        {
            "name": spec.name,
            "kind": spec.kind,
            "granularity": list(spec.granularity),
            "requires": list(spec.requires),
            "timing": spec.timing,
            "needs_groups": spec.needs_groups,
            "stateful": spec.stateful,
            "defaults": spec.defaults,
            "summary": spec.summary,
        }
        for spec in specs
    ]


def _load() -> None:
    """Import our components, then each entry point, once per process."""
    with _LOCK:
        if ENTRY_POINTS in _loaded:
            return
        for module in _BUILTIN:
            importlib.import_module(module)
        for entry in entry_points(group=ENTRY_POINTS):
            try:
                entry.load()
            except _IMPORT_ERRORS as error:
                raise ConfigError(
                    f"component {entry.name!r} ({entry.value}) of entry-point group {ENTRY_POINTS!r} does not import: "
                    f"{type(error).__name__}: {error}"
                ) from error
        _loaded.add(ENTRY_POINTS)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
