"""verl's replica interface for the rollout server: one server actor per replica, on the node of its workers."""

from __future__ import annotations

from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.config import HFModelConfig
from verl.workers.rollout.replica import RolloutReplica

from dataflex_rl.host.cpu.rollout import ROLLOUT_NAME, server_name
from dataflex_rl.host.cpu.rollout.server import RolloutServer


class DataflexReplica(RolloutReplica):
    """A replica served by one `RolloutServer`.

    Its settings, `rollout.engine_kwargs.dataflex`, are those of `EngineOptions`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.world_size != 1:
            raise ValueError(
                f"rollout 'dataflex' decodes on one device per replica; got tensor x data x pipeline parallel size "
                f"{self.world_size}, expected 1"
            )

    async def launch_servers(self) -> None:
        """Start the server actor beside its training worker and wait until its model is loaded."""
        node_id = ray.get_runtime_context().get_node_id()
        if self.workers:
            node_id = await self.workers[0].__ray_call__.remote(lambda _self: ray.get_runtime_context().get_node_id())
        name = server_name(self.replica_rank, self.name_suffix)
        server = (
            ray.remote(RolloutServer)
            .options(
                name=name,
                num_cpus=0,
                max_concurrency=self.max_concurrency,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node_id, soft=False),
            )
            .remote(
                config=self.config,
                model_config=omega_conf_to_dataclass(self.model_config, dataclass_type=HFModelConfig),
                options=dict(self.config.engine_kwargs.get(ROLLOUT_NAME) or {}),
            )
        )
        await server.wake_up.remote()
        self.servers = [server]
        self._server_handle = server
        self._server_address = name
