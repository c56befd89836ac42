"""Does a model fit into the memory of a CPU host? An estimate from the model's own figures, for the plan."""

from __future__ import annotations

import json
import re
from pathlib import Path

import psutil
from omegaconf import DictConfig

_GIB = 2**30
_TRAINED = 4 * (1 + 1 + 2 + 1)  # [bytes per parameter] float32: weight, gradient, Adam's two moments, the server's copy
_REFERENCE = 4  # [bytes per parameter] the reference model of a KL term
_WIDTH = {"float32": 4, "float16": 2, "bfloat16": 2}  # [bytes per parameter]
_STATED = re.compile(r"(\d+(?:\.\d+)?)([BM])(?![A-Za-z])")


def memory_warnings(config: DictConfig) -> list[str]:
    """Return one line if a run on the CPU needs more memory than the machine has; none where the size is unknown."""
    path = str(config.actor_rollout_ref.model.path)
    count = parameters_of(path)
    if config.trainer.device != "cpu" or count is None:
        return []
    needed, there = count * bytes_per_parameter(config) / _GIB, machine_memory() / _GIB
    if needed <= there:
        return []
    return [
        f"host={config.host.name}: training {count / 1e9:.3g} billion parameters ({path}) in float32 needs about "
        f"{needed:.0f} GiB, this machine has {there:.0f} GiB"
    ]


def bytes_per_parameter(config: DictConfig) -> int:
    """Return what a parameter costs in training on the CPU host, activations and caches apart. [bytes]"""
    with_kl = config.actor_rollout_ref.actor.use_kl_loss or config.algorithm.use_kl_in_reward
    return _TRAINED + (_REFERENCE if with_kl else 0)


def parameters_of(path: str) -> float | None:
    """Return how many parameters a model has: by the weights of a local folder, else by its name; None if unknown."""
    folder = Path(path).expanduser()
    sizes = [file.stat().st_size for file in folder.glob("*.safetensors")] if folder.is_dir() else []
    if sizes:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return sum(sizes) / _WIDTH.get(str(config.get("dtype") or config.get("torch_dtype")), 4)
    stated = _STATED.findall(folder.name)
    return float(stated[-1][0]) * {"B": 1e9, "M": 1e6}[stated[-1][1]] if stated else None


def machine_memory() -> float:
    """Return the memory of this machine, within the limit of a container. [bytes]"""
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else "max"
    total = float(psutil.virtual_memory().total)
    return total if text == "max" else min(total, float(text))
