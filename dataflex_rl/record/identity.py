"""Is a record that of a configuration? config.yaml and the hash in manifest.json must both say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from dataflex_rl.record.config import config_diff, config_hash, describe_diff, is_absent, read_config, switched_off
from dataflex_rl.record.files import names_in, size_of
from dataflex_rl.record.manifest import read_manifest
from dataflex_rl.record.paths import RunRecord

# keys that do not tell two runs apart: where a record lies, and how the run is carried out
VOLATILE = (
    "run_dir", "runs_dir", "dry_run", "force", "ray_kwargs", "trainer.default_local_dir", "trainer.logger",
    "trainer.project_name", "trainer.experiment_name", "host.env", "transfer_queue", "wandb",
    "actor_rollout_ref.rollout.prometheus",
)  # fmt: skip


def changed(record: RunRecord, config: Mapping[str, Any], ignored: Sequence[str] = ()) -> str:
    """Return on one line how a resolved configuration differs from the one a record was written with; "" if not at all.

    A record in which nothing is written is nobody's. One with steps or checkpoints but neither configuration nor
    manifest belongs to no configuration; with one of the two, that one decides.

    Raises:
        RecordError: config.yaml or manifest.json is broken.
    """
    old, manifest = read_config(record), read_manifest(record)
    if old is None and manifest is None:
        found = size_of(record.metrics) is not None or names_in(record.checkpoints)
        return "it has steps but neither config.yaml nor manifest.json" if found else ""
    off = switched_off(config)
    both = [block for block in off if old is not None and (block in switched_off(old) or is_absent(old, block))]
    if old is not None and (difference := config_diff(old, config, (*ignored, *both))):
        return describe_diff(difference)
    later = [blocks for size in range(len(off) + 1) for blocks in combinations(off, size)]  # not there when it began
    fresh = [config_hash(config, (*ignored, *blocks)) for blocks in later]
    if manifest is not None and manifest["config_hash"] not in fresh:
        return f"config_hash in manifest.json: {manifest['config_hash']} -> {fresh[0]}"
    return ""
