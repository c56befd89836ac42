"""Agent loop with common random numbers: each rollout request gets its own sampling seed.

The seed is f(run seed, prompt key, draw, rollout index): two methods at the same seed that meet the same prompt draw
the same random numbers, the responses of one prompt differ, and a rerun repeats exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ray
from omegaconf import DictConfig, open_dict
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, ToolListWrap, register
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ

from dataflex_rl.feed.identity import identify
from dataflex_rl.host.cpu.rollout.groups import FIRST, GroupRollout
from dataflex_rl.seeding import stream_seed

AGENT_LOOP = "dataflex_single_turn"
MANAGER = "dataflex_rl.host.agent_loop.SeededAgentLoopManager"
_SEED_NAME = {"sglang": "sampling_seed"}  # every other rollout server calls it "seed"


def use_ours(config: DictConfig) -> None:
    """Put the seeded agent loop where verl's default stands; what a user chose stays."""
    agent = config.actor_rollout_ref.rollout.agent
    with open_dict(config):
        if agent.default_agent_loop == "single_turn_agent":
            agent.default_agent_loop = AGENT_LOOP
        if not agent.get("agent_loop_manager_class"):
            agent.agent_loop_manager_class = MANAGER


def with_limit(sampling_params: Mapping[str, Any], info: Any, longest: int) -> dict[str, Any]:
    """Return a copy with the token limit of a prompt, where its `extra_info` has one (`max_new_tokens`).

    verl tells an agent loop not whether it validates, so a benchmark's limit travels with its items. It never exceeds
    the run's own limit `longest`, and a limit that the sampling parameters have already stays.
    """
    params = dict(sampling_params)
    limit = info.get("max_new_tokens") if isinstance(info, Mapping) else None
    if limit is not None and "max_new_tokens" not in params:
        params.setdefault("max_tokens", min(int(limit), longest))
    return params


@register(AGENT_LOOP)
class SeededSingleTurn(SingleTurnAgentLoop):
    """verl's single-turn loop; sampling is seeded per request where `data.seed` is set."""

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """Generate one response.

        Args:
            sampling_params: shared by all responses of a prompt, so copied before a seed goes in; one already there
                wins.
            kwargs: the prompt's columns, with `uid`, `session_id` (the rollout index) and `raw_prompt`; a limit in
                `extra_info.max_new_tokens` holds for this prompt.
        """
        return await super().run(self.params_of(sampling_params, kwargs), **kwargs)

    def params_of(self, sampling_params: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling parameters of one response: with its token limit, and its own seed."""
        run_seed = self.config.data.get("seed")
        params = with_limit(sampling_params, columns.get("extra_info"), self.rollout_config.response_length)
        if run_seed is not None:
            who = identify(columns["uid"], columns["raw_prompt"])
            seed = stream_seed(int(run_seed), "rollout", who.key, who.draw, int(columns["session_id"]))
            params.setdefault(_SEED_NAME.get(self.rollout_config.name, "seed"), seed)
        return params


class SeededAgentLoopWorker(AgentLoopWorkerTQ.__ray_metadata__.modified_class):
    """verl's worker, with one agent loop object for all requests, and with our rollout server one message for all.

    verl builds an agent loop through Hydra for each response, 20 ms of Python on two cores. Ours holds no state of a
    request, so one object serves all.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._loop = SeededSingleTurn(
            trainer_config=DictConfigWrap(config=self.config),
            server_manager=self.llm_client,
            tokenizer=self.tokenizer,
            processor=self.processor,
            hf_model_type=self.hf_model_type,
            dataset_cls=self.dataset_cls,
            data_config=DictConfigWrap(self.config.data),
            tools=ToolListWrap(self.tools),
        )
        self._groups: GroupRollout | None = None
        if GroupRollout.serves(self):
            groups = GroupRollout(self, self._loop)
            self._groups = groups if groups.plain else None

    async def _run_prompt(
        self, prompt: dict[str, Any], sampling_params: dict[str, Any], trajectory: dict[str, Any], trace: bool = False
    ) -> None:
        if self._groups is None or prompt["agent_name"] != AGENT_LOOP:
            await super()._run_prompt(prompt, sampling_params, trajectory, trace)
            return
        await self._groups.run(prompt, sampling_params, validate=bool(trajectory["validate"]))

    async def _run_agent_loop(
        self, sampling_params: dict[str, Any], trajectory: dict[str, Any], *, agent_name: str, **kwargs: Any
    ) -> None:
        kwargs["session_id"] += int(kwargs.pop(FIRST, 0))
        if agent_name != AGENT_LOOP:
            await super()._run_agent_loop(sampling_params, trajectory, agent_name=agent_name, **kwargs)
            return
        kwargs.pop("trace", None)
        output = await self._loop.run(sampling_params, **kwargs)
        await self._agent_loop_postprocess(output, trajectory["validate"], **kwargs)


class SeededAgentLoopManager(AgentLoopManagerTQ):
    """verl's manager with our workers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(SeededAgentLoopWorker)
