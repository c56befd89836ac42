"""Every name of verl, TransferQueue and Ray's internals that this package extends, overrides, calls or reads.

A private name may go or change its parameters in any release of verl; this table says on which ones we rely, and what
for. `hook_check` holds it against the installed libraries before anything is registered. Public names of Ray are left
out: Ray keeps those stable.

Columns: names; how we use them; parameters (of what is overridden all, in order; of what is called those that we pass);
what for; and, where it is not `SEEN`, the first version with it.
"""

from __future__ import annotations

from dataflex_rl.host.hook_check import seen as _of
from dataflex_rl.host.hooks_rollout import ROLLOUT

_TRAINER = "verl.trainer.ppo.v1.trainer_base"
_PLATFORM = (
    *_of(
        "verl.plugin.platform.platform_manager",
        "PlatformRegistry | called | | the CPU is registered as a platform",
        "_current_platform | value | | verl may have chosen a platform that is not there",
        "set_platform | called | platform | that choice is replaced",
    ),
    *_of(
        "verl.plugin.platform.platform_manager:PlatformRegistry",
        "get | called | name | a second registration is an error",
        "register | called | platform | the CPU is registered as a platform",
    ),
    *_of("verl.plugin.platform.platform_base", "PlatformBase | extended | | the CPU as a platform"),
    *_of(
        "verl.plugin.platform.platform_base:PlatformBase",
        "device_name vendor_name device_module current_device device_count | implemented | | one CPU",
        "is_available | implemented | | there is always a CPU",
        "is_platform_available | implemented | use_smi_check | verl asks each platform",
        "set_device synchronize | implemented | device_index | nothing to do",
        "manual_seed manual_seed_all | implemented | seed | seeds torch",
        "set_allocator_settings | implemented | settings | nothing to do",
        "get_device_capability | implemented | device_index | none",
        "communication_backend_name | implemented | | gloo",
        "nvtx_range | implemented | msg | nothing to do",
        "empty_cache profiler_start profiler_stop cudart | implemented | | nothing to do",
        "ray_resource_name visible_devices_envvar ray_noset_envvars | implemented | | how Ray counts devices",
        "is_ipc_supported | implemented | | no: tensors go through the object store",
    ),
)
_TRAINING = (
    *_of(
        _TRAINER,
        "TRAINER_REGISTRY | value | | is a trainer known?",
        "register_trainer | called | name | our trainers are registered",
        "PPOTrainer | extended | | stands for a trainer that could not load",
    ),
    *_of(
        f"{_TRAINER}:PPOTrainer",
        "__init__ | overridden | config | policy and feed are mounted before verl builds anything",
        "_init_resource_pool_mgr | overridden | | workers that start gloo on a CPU",
        "_compute_old_log_prob _compute_ref_log_prob | overridden | batch metrics | workers read few fields",
        "processor | value | | text alone is read this way",
        "_build_replay_buffer | overridden | | batches in a fixed order",
        "_init_dataloader | overridden | | domains and digest of the training data",
        "_next_train_batch | overridden | num_prompts | a feed draws the prompts of a step, with uids that repeat",
        "_compute_advantage | overridden | batch metrics | the policy weighs the batch after the advantages",
        "_update_actor | overridden | batch metrics | an empty batch is not stepped on; few fields are read",
        "_compute_metrics | overridden | batch metrics timing_raw global_steps epoch | end of a step: was the policy"
        " applied?",
        "on_validate_begin on_validate_end | overridden | | items of a validation go into the record",
        "_validate | overridden | | rates of unread and cut answers",
        "_save_checkpoint | overridden | | our state is saved with verl's",
        "_load_checkpoint | overridden | | and restored with it",
        "on_step_begin | overridden | | is this step the last one?",
        "timing_raw | value | | seconds of a step",
        "on_step_end on_sample_end | implemented | | never reached in a trainer that could not load",
        "_submit_batch_to_rollout | called | batch | further prompts and responses of a step",
        "_add_prompts_to_generate | called | num_prompts | the replay buffer asks for prompts in place of failed ones",
        "trainer_mode | value | | verl takes every mode but sync for an asynchronous one",
        "logger | value | | the record is written before verl's own backends",
        "config | value | | the run's configuration",
        "global_steps total_training_steps | value | | the step under way and the last",
        "train_dataset val_dataset | value | | columns and rows of the data",
        "tokenizer | value | | lengths of prompts",
        "replay_buffer | value | | surplus of the step",
        "role_worker_mapping | value | | worker classes by role",
    ),
    *_of("verl.trainer.ppo.v1.trainer_sync", "PPOTrainerSync | extended | | the trainer that ours add to"),
    *_of("verl.trainer.ppo.v1.replay_buffer", "ReplayBuffer | extended | | batches in a fixed order"),
    *_of(
        "verl.trainer.ppo.v1.replay_buffer:ReplayBuffer",
        "__init__ | overridden | trainer_mode trainer_config max_off_policy_threshold max_off_policy_strategy"
        " sampler_kwargs poll_interval refill_fn filter_groups_metric train_batch_size gen_batch_size"
        " max_inflight_gen_batches sync_refill_failed_groups | settings of our own",
        "_wait_for_next_poll | overridden | partition_id last_debug_time | failed rollouts are errors",
        "_select_prompt_uids | overridden | partition_id sampleable_keys batch_size | order of the prompts",
        "_materialize_batch | overridden | partition_id selected_prompt_uids partition_snapshot | order of the rows",
        "_sampleable_terminal_keys | overridden | partition_id eviction_reasons | a mixer waits for all groups",
        "_clear_groups | called | partition_id uids | surplus groups are dropped",
        "_sync_metadata_from_transfer_queue | called | | what is finished of a round",
        "sample | overridden | global_steps partition_id batch_size | a step may generate more than once",
        "poll_interval | value | | verl's 2 s are most of a small step",
        "pending_keys running_keys failure_keys | value | | prompts that wait, are generated, have failed",
        "partitions | value | | trajectories by partition",
        "prompt_global_steps | value | | step at which a prompt was drawn",
    ),
    *_of(
        "verl.trainer.ppo.utils",
        "Role | value | | keys of the worker mapping",
        "create_rl_sampler | called | data_config dataset | order of a pass over the data",
        "need_critic need_reference_policy | called | config | arguments of verl's own checks",
    ),
    *_of(
        "verl.trainer.ppo.core_algos",
        "ADV_ESTIMATOR_REGISTRY AdvantageEstimator | value | | is an estimator known?",
    ),
    *_of(
        "verl.utils.tensordict_utils",
        "assign_non_tensor_stack | called | tensor_dict key val | uids of a batch",
        "assign_non_tensor_data | called | tensor_dict key val | step of a batch",
        "get_tensordict | called | tensor_dict | a batch of rows",
    ),
    *_of("verl.utils.dataset.rl_dataset", "collate_fn | called | data_list | a batch of rows"),
    *_of("verl.utils.debug", "marked_timer | called | name timing_raw color | seconds of an evaluation"),
    *_of("verl.utils.device", "get_device_name | called | | is the platform the CPU?"),
    *_of(
        "verl.utils.config",
        "omega_conf_to_dataclass | called | config dataclass_type | verl's typed configuration",
        "validate_config | called | config use_reference_policy use_critic | verl's own checks, before Ray starts",
    ),
)
_WORKERS = (
    *_of("verl.workers.engine", "EngineRegistry | called | | verl's engines are offered on a CPU"),
    *_of("verl.workers.engine:EngineRegistry", "register | called | model_type backend device | the same"),
    *_of(
        "verl.workers.engine.fsdp.transformer_impl",
        "FSDPEngineWithLMHead | value | | the actor's engine",
        "FSDPEngineWithValueHead | extended | | the critic's engine without flash attention",
    ),
    *_of(
        "verl.workers.engine.fsdp.transformer_impl:FSDPEngineWithValueHead",
        "_build_module | overridden | | the critic's module without flash attention",
        "model_config engine_config | value | | the critic's model and seed",
    ),
    *_of("verl.workers.engine_workers", "ActorRolloutRefWorker TrainingWorker | extended | | gloo on a CPU"),
    *_of(
        "verl.workers.engine_workers:ActorRolloutRefWorker",
        "__init__ | overridden | config role distillation_config | gloo comes before verl's process group",
    ),
    *_of("verl.workers.engine_workers:TrainingWorker", "__init__ | overridden | config | the same for the critic"),
)
_QUEUE = (
    *_of(
        "transfer_queue",
        "KVBatchMeta | value | | a batch's keys",
        "kv_batch_get | called | keys partition_id select_fields | signals and items",
        "kv_batch_put | called | keys partition_id fields | weights",
        "async_kv_batch_put | called | keys partition_id fields tags | responses and the states of prompts",
    ),
    *_of(
        "transfer_queue:KVBatchMeta",
        "reorder | called | indexes | order of the rows",
        "keys tags partition_id | value | | rows of a batch",
    ),
)
_ENTRY = _of(
    "verl.trainer.main_ppo",
    "run_ppo | called | config task_runner_class | starts a training",
    "TaskRunnerV1 | value | | the v1 trainer",
)
FIRST = _PLATFORM  # checked before the platform is registered, which verl reads when the rest is imported
AT_REGISTRATION = (*_TRAINING, *ROLLOUT, *_WORKERS, *_QUEUE)
_INSTANCE = (
    *_of("ray._private.authentication.authentication_token_setup",
         "enable_token_auth_by_default ensure_token_if_auth_enabled | value | | as ray.init does first"),
    *_of("ray._private.parameter", "RayParams | value | | settings of a private instance"),
    *_of("ray._private.node", "Node | extended | | a private instance without what watches and shows"),
    *_of("ray._private.node:Node",
         "start_api_server start_monitor start_log_monitor start_raylet | value | | processes left out or changed",
         "_webui_url _session_dir _node_id | value | | what the processes left out would set or need"),
    *_of("ray._raylet",
         "DASHBOARD_AGENT_LISTEN_PORT_NAME METRICS_AGENT_PORT_NAME METRICS_EXPORT_PORT_NAME persist_port | value | |"
         " ports that are not in use"),
)  # fmt: skip
AT_START = (*_ENTRY, *_INSTANCE)  # verl's entry point itself may be what loads the plugin
HOOKS = (*FIRST, *AT_REGISTRATION, *AT_START)
