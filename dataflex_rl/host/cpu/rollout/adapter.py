"""The rollout side of the training worker: it hands each step's weights to its server."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import ray
import torch
from torch.distributed.device_mesh import DeviceMesh
from verl.workers.config import HFModelConfig, RolloutConfig
from verl.workers.rollout.base import BaseRollout

from dataflex_rl.host.cpu.rollout import server_name


class DataflexRollout(BaseRollout):
    """verl's worker-side adapter. The server is found by name at first use: it starts after the worker."""

    def __init__(self, config: RolloutConfig, model_config: HFModelConfig, device_mesh: DeviceMesh) -> None:
        super().__init__(config, model_config, device_mesh)
        self._replica_rank = int(os.environ["RANK"])
        self._server: Any = None

    @property
    def server(self) -> Any:
        """The Ray handle of this worker's server."""
        if self._server is None:
            self._server = ray.get_actor(server_name(self._replica_rank))
        return self._server

    async def resume(self, tags: list[str]) -> None:
        """Let the server serve again once its weights are in place (verl's last call is for the KV cache)."""
        if "kv_cache" in tags:
            await self.server.wake_up.remote()

    async def release(self) -> None:
        """Hold the server's requests."""
        await self.server.sleep.remote()

    @torch.no_grad()
    async def update_weights(
        self,
        weights: Generator[tuple[str, torch.Tensor], None, None],
        wire_format: str = "named_tensors",
        global_steps: int | None = None,
        **_kwargs: Any,
    ) -> None:
        """Send all tensors in one message through the object store.

        Raises:
            ValueError: a wire format other than whole tensors.
        """
        if wire_format != "named_tensors":
            raise ValueError(f"rollout 'dataflex' takes wire_format='named_tensors', got {wire_format!r}")
        tensors = [(name, tensor.detach().cpu()) for name, tensor in weights]
        await self.server.load_weights.remote(tensors, global_steps)
