"""The CPU as a verl platform.

verl asks a platform for a device module (`torch.cuda`, `torch.npu`) and a few facts. On the CPU the module is
`torch.cpu` plus memory functions that have nothing to report. Ray counts the device under its resource name "GPU", the
only one besides "NPU" that verl's resource check knows, so the private Ray instance of a CPU run is given logical GPUs.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase

_NO_MEMORY = ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved")
_NOTHING_TO_DO = ("empty_cache", "reset_peak_memory_stats", "ipc_collect", "set_per_process_memory_fraction")


def _device_module() -> types.ModuleType:
    """Return `torch.cpu` with what verl calls on a device module besides."""
    module = types.ModuleType("dataflex_rl_cpu")
    module.__dict__.update({name: getattr(torch.cpu, name) for name in dir(torch.cpu) if not name.startswith("__")})
    for name in _NO_MEMORY:
        setattr(module, name, lambda *_args: 0)
    for name in _NOTHING_TO_DO:
        setattr(module, name, lambda *_args: None)
    module.__dict__.update(
        mem_get_info=lambda *_args: (0, 0),
        manual_seed=torch.manual_seed,
        manual_seed_all=torch.manual_seed,
        get_rng_state=lambda *_args: torch.get_rng_state(),
        set_rng_state=lambda state, *_args: torch.set_rng_state(state),
        get_device_name=lambda *_args: "cpu",
    )
    return module


class PlatformCPU(PlatformBase):
    """verl's view of a machine without an accelerator."""

    _module = _device_module()

    @property
    def device_name(self) -> str:
        """Return the torch device type."""
        return "cpu"

    @property
    def vendor_name(self) -> str:
        """Return the vendor key of verl's engine registry."""
        return "cpu"

    @property
    def device_module(self) -> types.ModuleType:
        """Return the stand-in for `torch.cuda`."""
        return self._module

    def is_available(self) -> bool:
        """Return True: there is always a CPU."""
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """Return True where no accelerator is visible; verl's own platforms are asked first."""
        return not torch.cuda.is_available()

    def current_device(self) -> torch.device:
        """Return the device itself: verl passes this to `tensor.to`, where index 0 would mean an accelerator."""
        return torch.device("cpu")

    def device_count(self) -> int:
        """Return one logical device."""
        return 1

    def set_device(self, device_index: int) -> None:
        """Accept any index: there is one device."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Return at once: CPU work is synchronous."""

    def manual_seed(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """Accept allocator settings, which have no meaning here."""

    def empty_cache(self) -> None:
        """Return at once: there is no device cache."""

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        """Return no capability."""
        return None, None

    def communication_backend_name(self) -> str:
        """Return the collective backend of CPUs."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Return the variable Ray sets for logical GPUs."""
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """Mark nothing."""
        yield

    def profiler_start(self) -> None:
        """Profile nothing."""

    def profiler_stop(self) -> None:
        """Profile nothing."""

    def ray_resource_name(self) -> str:
        """Return the resource name that verl's availability check counts."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Return the variable that keeps Ray from hiding devices."""
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        """Return False: tensors travel through Ray's object store."""
        return False

    def cudart(self) -> Any:
        """Return no runtime."""
        return None
