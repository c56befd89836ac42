"""Strict loading of named tensors into a model."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from dataflex_rl.errors import ConfigError


def load_weights(model: nn.Module, named_tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Copy every named tensor into the model, converting its type and device; each is read once, as it comes.

    Tied weights (an output layer that is the embedding) are one tensor under several names: any one of them will do,
    and where several come they must be equal.
    Errors: `ConfigError` for an unknown name, a name that comes twice, a wrong shape, tied names with unequal values,
    and weights left without a value. The model is then partly loaded: load again before use.
    """
    targets: dict[str, Tensor] = dict(model.state_dict(keep_vars=True))
    names: set[str] = set()
    filled: set[int] = set()
    with torch.no_grad():
        for name, value in named_tensors:
            target = _target(name, value, targets, names)
            if id(target) not in filled:
                target.copy_(value)
            elif not torch.equal(target, value.to(target.device, target.dtype)):
                raise ConfigError(f"weight {name!r} is tied to one already loaded, but its values differ")
            names.add(name)
            filled.add(id(target))
    missing = [name for name, target in targets.items() if id(target) not in filled]
    if missing:
        raise ConfigError(f"weights missing: {', '.join(missing[:5])} ({len(missing)} of {len(targets)} in all)")


def _target(name: str, value: Tensor, targets: dict[str, Tensor], names: set[str]) -> Tensor:
    """Return the model's tensor of that name; refuse a value that has no place there."""
    if name not in targets:
        raise ConfigError(f"unknown weight {name!r}; the model has {len(targets)}: {', '.join(list(targets)[:3])}, ...")
    if name in names:
        raise ConfigError(f"weight {name!r} came twice")
    if value.shape != targets[name].shape:
        raise ConfigError(f"weight {name!r} has shape {tuple(value.shape)}, expected {tuple(targets[name].shape)}")
    return targets[name]
