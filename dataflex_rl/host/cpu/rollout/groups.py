"""The agent loop's side of the CPU rollout: all prompts of a call at once, one message each way.

verl sends each response on its own way: a chat template, a call to the balancer, one to the server, one to the reward
worker and one to the queue, 20 ms of Python apiece. With a server of ours, whose tokens depend on the request alone,
the same work is done per call: each prompt is rendered once, all responses are asked for in one message per server,
graded here and put into the queue together. What is asked, graded and stored is what verl's own loop would.

Source: verl 0.9.1, `AgentLoopWorkerTQ._run_prompt`, `SingleTurnAgentLoop.run`, `NaiveRewardManager.run_single`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transfer_queue as tq
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
from verl.trainer.ppo.reward import load_reward_manager
from verl.trainer.ppo.v1.agent_loop_tq import apply_greedy_sampling_params
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from dataflex_rl.host.cpu.rollout import ROLLOUT_NAME

logger = logging.getLogger(__name__)
FIRST = "__first_session__"  # column of a prompt that is continued: the number of its next response
NUM_TURNS = 2  # a question and an answer


@dataclass(frozen=True, kw_only=True)
class Group:
    """One prompt on its way: its dataset columns, sampling parameters of each response, and who waits for it.

    `first`: number of its first response; above 0 where the prompt is continued.
    """

    columns: dict[str, Any]
    params: list[dict[str, Any]]
    validate: bool
    done: asyncio.Future[None]
    first: int = 0

    @property
    def uid(self) -> str:
        """The prompt's key in the queue."""
        return str(self.columns["uid"])


class GroupRollout:
    """Generates, grades and stores the groups of one agent loop worker.

    worker: verl's worker, with its tokenizer, client and configuration. loop: the agent loop that renders prompts and
    chooses each response's sampling parameters.
    """

    def __init__(self, worker: Any, loop: Any) -> None:
        self._config, self._client, self._loop = worker.config, worker.llm_client, loop
        self._rewards = load_reward_manager(worker.config, worker.tokenizer)
        trainer = worker.config.trainer
        self._servers = int(trainer.n_gpus_per_node) * int(trainer.nnodes)
        self._waiting: list[Group] = []
        self._running: set[asyncio.Task[None]] = set()

    @classmethod
    def serves(cls, worker: Any) -> bool:
        """Return whether a worker's rollouts can be done this way: our server, text alone, a plain verifier."""
        config = worker.config
        return bool(
            config.actor_rollout_ref.rollout.name == ROLLOUT_NAME
            and worker.processor is None
            and not worker.distillation_enabled
            and worker.reward_loop_worker_handles is not None
            and not config.reward.reward_model.enable
            and config.reward.reward_manager.name == "naive"
        )

    @property
    def plain(self) -> bool:
        """Whether the verifier is a function that can be called here."""
        return type(self._rewards) is NaiveRewardManager and not self._rewards.is_async_reward_score

    async def run(self, prompt: dict[str, Any], sampling_params: dict[str, Any], *, validate: bool) -> None:
        """Generate, grade and store one prompt, together with all others that are asked for at this moment."""
        columns = {key: value for key, value in prompt.items() if key != "agent_name"}
        rollout = self._config.actor_rollout_ref.rollout
        n = columns.pop("__rollout_n__", rollout.val_kwargs.n if validate else rollout.n)
        params, first = dict(sampling_params), int(columns.pop(FIRST, 0))
        if not columns.pop("__do_sample__", True) and not validate:
            apply_greedy_sampling_params(params)
        each = [self._loop.params_of(params, {**columns, "session_id": first + i}) for i in range(int(n))]
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(Group(columns=columns, params=each, validate=validate, done=done, first=first))
        if len(self._waiting) == 1:  # the others of this call come before the task below takes its first step
            task = asyncio.create_task(self._flush())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        await done

    async def _flush(self) -> None:
        """Do all groups that wait; a group that fails is reported as failed, the others go on."""
        groups, self._waiting = self._waiting, []
        for validate in (False, True):
            chosen = [group for group in groups if group.validate is validate]
            if chosen:
                await self._serve(chosen, "val" if validate else "train")
        for group in groups:
            group.done.set_result(None)

    async def _serve(self, groups: Sequence[Group], partition: str) -> None:
        await _tell(groups, partition, "running")
        parts = [groups[i :: self._servers] for i in range(self._servers)]
        served = await asyncio.gather(*(self._part(part, partition) for part in parts if part))
        for status in ("finished", "failure"):
            told = [group for part in served for group, state in part if state == status]
            if told:
                await _tell(told, partition, status)

    async def _part(self, groups: Sequence[Group], partition: str) -> list[tuple[Group, str]]:
        """Do the groups of one server; return each with its status."""
        status = dict.fromkeys(range(len(groups)), "failure")
        try:
            start = time.perf_counter()
            prompt_ids = [self._render(group.columns["raw_prompt"]) for group in groups]
            answers = await self._generate([(ids, group.params) for ids, group in zip(prompt_ids, groups, strict=True)])
            seconds = time.perf_counter() - start
            keys, rows, tags = [], [], []
            for i, (group, ids, answer) in enumerate(zip(groups, prompt_ids, answers, strict=True)):
                try:
                    made = [
                        self._row(group, ids, session, item, seconds)
                        for session, item in enumerate(answer, group.first)
                    ]
                except Exception:  # whatever a verifier raises fails this prompt alone, as in verl
                    logger.exception("grading the responses of uid %s failed", group.uid)
                    continue
                keys += [f"{group.uid}_{row['session_id']}_0" for row in made]
                rows += made
                tags += [_tag(row, group.columns["global_steps"]) for row in made]
                status[i] = "finished"
            if rows:
                await tq.async_kv_batch_put(
                    keys=keys, fields=list_of_dict_to_tensordict(rows), tags=tags, partition_id=partition
                )
        except Exception:
            logger.exception("the rollout of %d prompts failed, uid %s and on", len(groups), groups[0].uid)
            return [(group, "failure") for group in groups]
        return [(group, status[i]) for i, group in enumerate(groups)]

    def _render(self, raw_prompt: Any) -> list[int]:
        """Return a prompt's token ids, cut on the left as verl cuts them."""
        ids = self._loop.continuous_token_builder.build_initial_tokens(list(raw_prompt))
        return list(self._loop._cap_text_prompt_length(ids))

    async def _generate(self, asked: list[tuple[list[int], list[dict[str, Any]]]]) -> list[list[dict[str, Any]]]:
        """Ask one server for all responses."""
        name = "groups"
        server_id, server = await self._client._acquire_server(name, prompt_ids=[], sampling_params={})
        try:
            answers: list[list[dict[str, Any]]] = await server.generate_groups.remote(asked)
        finally:
            self._client._release_server(server_id, request_id=name)
        return answers

    def _row(
        self, group: Group, prompt_ids: list[int], session: int, answer: dict[str, Any], seconds: float
    ) -> dict[str, Any]:
        """Return the fields of one response as verl's loop stores them."""
        builder, limit = self._loop.continuous_token_builder, self._loop.response_length
        merged = builder.merge_assistant_tokens(prompt_ids, answer["token_ids"])
        mask, log_probs = builder.align_response_metadata(merged, [], [], assistant_logprobs=answer["log_probs"])
        cut = len(merged.token_ids) - len(mask)
        step = answer["global_steps"]
        output = AgentLoopOutput(
            prompt_ids=merged.token_ids[:cut],
            response_ids=merged.token_ids[cut:][:limit],
            response_mask=mask[:limit],
            response_logprobs=log_probs[:limit] if log_probs else None,
            routed_experts=None,
            multi_modal_data={},
            mm_processor_kwargs={},
            mm_processor_output=None,
            num_turns=NUM_TURNS,
            metrics=AgentLoopMetrics(generate_sequences=seconds, num_preempted=-1),
            extra_fields={
                "global_steps": step, "finish": answer["finish"], "min_global_steps": step, "max_global_steps": step,
                "turn_scores": [], "tool_rewards": [],
            },
        )  # fmt: skip
        self._grade(output, group.columns)
        row: dict[str, Any] = output.as_dict()
        row.update(group.columns)
        row["session_id"] = session
        row.pop("multi_modal_data", None)
        row["loss_mask"] = row["response_mask"]
        row["input_ids"] = torch.cat([row["prompts"], row["responses"]])
        row["position_ids"] = torch.arange(len(row["input_ids"]))
        row["multi_modal_inputs"] = {}
        return row

    def _grade(self, output: AgentLoopOutput, columns: dict[str, Any]) -> None:
        """Grade a response as verl's naive reward manager does."""
        start = time.perf_counter()
        info = {**(columns.get("extra_info") or {}), **output.extra_fields}
        info |= {"num_turns": output.num_turns, "rollout_reward_scores": columns.get("reward_scores", {})}
        result = self._rewards.compute_score(
            data_source=columns["data_source"],
            solution_str=self._rewards.tokenizer.decode(output.response_ids, skip_special_tokens=True),
            ground_truth=columns["reward_model"]["ground_truth"],
            extra_info=info,
        )
        more = dict(result) if isinstance(result, dict) else {"acc": result}
        output.reward_score = result["score"] if isinstance(result, dict) else result
        output.extra_fields["reward_extra_info"] = more
        output.metrics.compute_score = time.perf_counter() - start


def _tag(row: dict[str, Any], global_steps: Any) -> dict[str, Any]:
    """Return the tags that verl reads of a stored response."""
    prompt, response = len(row["prompts"]), len(row["responses"])
    steps = {name: row["extra_fields"].get(name) for name in ("min_global_steps", "max_global_steps")}
    lengths = {"prompt_len": prompt, "response_len": response, "seq_len": prompt + response}
    return {"status": "success", **lengths, "global_steps": global_steps, **steps}


async def _tell(groups: Sequence[Group], partition: str, status: str) -> None:
    """Say in the queue what becomes of prompts."""
    tags = [{"status": status} for _ in groups]
    await tq.async_kv_batch_put(keys=[group.uid for group in groups], partition_id=partition, tags=tags)
