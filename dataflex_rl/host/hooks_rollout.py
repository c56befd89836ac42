"""The names of verl that rollouts build on: agent loop, verifier, rollout server. Part of the table in `hooks`."""

from __future__ import annotations

from dataflex_rl.host.hook_check import seen as _of

_LOOP = "verl.experimental.agent_loop"
ROLLOUT = (
    *_of(
        f"{_LOOP}.agent_loop",
        "register | called | agent_name | the seeded agent loop",
        "AgentLoopOutput AgentLoopMetrics | value | | result of an agent loop",
        "DictConfigWrap | called | config | arguments of an agent loop",
        "ToolListWrap | called | tools | arguments of an agent loop",
    ),
    *_of(
        f"{_LOOP}.agent_loop:AgentLoopBase",
        "__init__ | called | trainer_config server_manager tokenizer processor dataset_cls data_config"
        " hf_model_type | one agent loop object for all requests | 0.9.1",
        "config | value | | the run's seed",
        "rollout_config | value | | limits and the rollout server's name",
        "continuous_token_builder | value | | renders prompts and joins responses",
        "_cap_text_prompt_length | called | prompt_ids | prompts are cut as verl cuts them",
    ),
    *_of(
        "verl.utils.tokenizer.continuous_token:ContinuousTokenBuilder",
        "build_initial_tokens | called | messages | a prompt's tokens",
        "merge_assistant_tokens | called | runtime_token_ids assistant_token_ids | prompt and response",
        "align_response_metadata | called | merge_result response_mask response_logprobs assistant_logprobs"
        " | mask and log-probs of a response",
    ),
    *_of(
        f"{_LOOP.replace('agent_loop', 'reward_loop')}.reward_manager.naive",
        "NaiveRewardManager | value | | a verifier that can be called where the responses are",
    ),
    *_of(
        f"{_LOOP.replace('agent_loop', 'reward_loop')}.reward_manager.naive:NaiveRewardManager",
        "compute_score is_async_reward_score tokenizer | value | | grades a response",
    ),
    *_of("verl.trainer.ppo.reward", "load_reward_manager | called | config tokenizer | the run's verifier"),
    *_of("verl.utils.tensordict_utils", "list_of_dict_to_tensordict | called | list_of_dicts | rows of the queue"),
    *_of(
        "verl.workers.rollout.llm_server:LLMServerClient",
        "_acquire_server | called | request_id | the server of a message",
        "_release_server | called | server_id request_id | the balancer counts messages",
    ),
    *_of(f"{_LOOP}.single_turn_agent_loop", "SingleTurnAgentLoop | extended | | requests with a seed"),
    *_of(
        f"{_LOOP}.single_turn_agent_loop:SingleTurnAgentLoop",
        "run | overridden | sampling_params priority | each request gets its seed",
    ),
    *_of(
        "verl.trainer.ppo.v1.agent_loop_tq",
        "AgentLoopWorkerTQ | extended | | one agent loop object for all requests",
        "AgentLoopManagerTQ | extended | | our workers",
        "apply_greedy_sampling_params | called | params | a response without sampling",
    ),
    *_of(
        "verl.trainer.ppo.v1.agent_loop_tq:AgentLoopWorkerTQ",
        "__ray_metadata__ | value | | the class behind the Ray actor",
        "__init__ | overridden | | one agent loop object for all requests",
        "_run_prompt | overridden | prompt sampling_params trajectory trace | all prompts of a call together",
        "distillation_enabled reward_loop_worker_handles | value | | may responses be graded here?",
        "_run_agent_loop | overridden | sampling_params trajectory agent_name trace | one agent loop object",
        "_agent_loop_postprocess | called | output validate | a response goes into the queue",
        "config llm_client tokenizer processor dataset_cls tools | value | | arguments of an agent loop",
        "hf_model_type | value | | argument of an agent loop | 0.9.1",
    ),
    *_of(
        "verl.trainer.ppo.v1.agent_loop_tq:AgentLoopManagerTQ",
        "__init__ | overridden | | our workers",
        "agent_loop_workers_class | value | | our workers",
    ),
    *_of(
        "verl.workers.rollout.base",
        "BaseRollout | extended | | weights to our rollout server",
        "_ROLLOUT_REGISTRY | value | | our rollout server's adapter",
    ),
    *_of(
        "verl.workers.rollout.base:BaseRollout",
        "__init__ | overridden | config model_config device_mesh | rank of its server",
        "resume | implemented | tags | the server serves again",
        "release | implemented | | the server holds requests",
        "update_weights | implemented | weights wire_format | weights in one message",
    ),
    *_of(
        "verl.workers.rollout.replica",
        "RolloutReplica | extended | | our rollout server",
        "RolloutReplicaRegistry | called | | our rollout server",
        "TokenOutput | called | token_ids log_probs stop_reason extra_fields | one response",
    ),
    *_of("verl.workers.rollout.replica:RolloutReplicaRegistry", "register | called | name loader | our rollout server"),
    *_of(
        "verl.workers.rollout.replica:RolloutReplica",
        "__init__ | overridden | replica_rank config model_config gpus_per_node is_reward_model is_teacher_model"
        " name_suffix | refuses parallel decoding",
        "launch_servers | implemented | | starts the server",
        "config | value | | rollout settings",
        "model_config | value | | model of the server",
        "replica_rank name_suffix | value | | name of the server",
        "max_concurrency | value | | requests at once",
        "world_size | value | | one device per replica",
        "workers | value | | the node to start on",
        "servers | value | | what verl calls to wake and to sleep",
        "_server_handle _server_address | value | | where verl sends requests",
    ),
    *_of(
        "verl.workers.config",
        "HFModelConfig RolloutConfig | value | | model, tokenizer and rollout settings",
    ),
)
