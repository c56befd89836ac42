"""The run record: the contract between training and analysis, a folder of plain files that survives any kill.

- paths: where the files of a record lie
- files: atomic writes, strict JSON, errors that name the file
- metrics: one line per step, no step lost or doubled
- status: pending | running | done | failed | interrupted, and what went wrong
- lock, lockfile: locks with a heartbeat, across machines; which process still runs
- owner: one process at a time works on a record; a dead one's lock is recovered
- evaluation: correct and total per benchmark, counted from per-item results, untrained and trained
- during: the evaluations during training, with the tokens spent until each
- cost: tokens, prompts and seconds, summed from the metrics lines
- manifest: what was run, with which versions, on which data
- config: the resolved configuration, its hash, the difference of two
- identity: whether a record is that of a configuration
- pairs: what makes two runs comparable; streams: whether they saw the same prompts
- resume: which checkpoint a run continues from, and whether it is done
"""

from dataflex_rl.record.config import (
    config_diff,
    config_hash,
    describe_diff,
    read_config,
    relevant,
    write_config,
)
from dataflex_rl.record.cost import cost_of, read_cost, write_cost
from dataflex_rl.record.evaluation import has_evaluation, read_evaluation, write_evaluation
from dataflex_rl.record.files import RecordError, UnreadableError, check_writable, read_json, write_json, write_text
from dataflex_rl.record.identity import changed
from dataflex_rl.record.manifest import git_revision, read_manifest, update_manifest, versions, write_manifest
from dataflex_rl.record.metrics import MetricsLog, cut_metrics, read_metrics
from dataflex_rl.record.owner import RecordBusy, RecordLock, holding
from dataflex_rl.record.paths import RunRecord, record_path
from dataflex_rl.record.resume import (
    find_checkpoint,
    is_done,
    last_step,
    mark_checkpoint,
    resumable_checkpoint,
    why_not_done,
)
from dataflex_rl.record.status import Status, begin_attempt, read_status, update_status, write_status

__all__ = [
    "MetricsLog",
    "RecordBusy",
    "RecordError",
    "RecordLock",
    "RunRecord",
    "Status",
    "UnreadableError",
    "begin_attempt",
    "changed",
    "check_writable",
    "config_diff",
    "config_hash",
    "cost_of",
    "cut_metrics",
    "describe_diff",
    "find_checkpoint",
    "git_revision",
    "has_evaluation",
    "holding",
    "is_done",
    "last_step",
    "mark_checkpoint",
    "read_config",
    "read_cost",
    "read_evaluation",
    "read_json",
    "read_manifest",
    "read_metrics",
    "read_status",
    "record_path",
    "relevant",
    "resumable_checkpoint",
    "update_manifest",
    "update_status",
    "versions",
    "why_not_done",
    "write_config",
    "write_cost",
    "write_evaluation",
    "write_json",
    "write_manifest",
    "write_status",
    "write_text",
]
