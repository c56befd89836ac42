"""A configuration as plain data."""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, OmegaConf


def plain(config: DictConfig) -> dict[str, Any]:
    """Return a configuration, its interpolations resolved, as plain dicts and lists."""
    value = OmegaConf.to_container(config, resolve=True)
    assert isinstance(value, dict), f"a configuration node with keys, not a {type(value).__name__}"
    return {str(key): item for key, item in value.items()}
