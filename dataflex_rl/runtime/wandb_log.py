"""`python -m dataflex_rl.runtime.wandb_log RECORD`: a run record as a W&B run, under an id that stays the same.

    python -m dataflex_rl.runtime.wandb_log RECORD             write it, offline unless a key is set
    python -m dataflex_rl.runtime.wandb_log RECORD --follow    log steps as they come, to the end of standard input

A run does this by itself, in a process of its own, so that nothing W&B does can reach the training: offline in one go
when it is done, from the record, with every step once; online from the start, and after a resume from the first step
that W&B does not have. Project, group, name and tags come from the configuration and the manifest.
The last line printed is JSON: {"mode", "id", "project", "steps", "where", "error"}; where: its page, or its folder.

Exit codes: 0 logged, 1 W&B failed, 2 no such record.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dataflex_rl.config.wandb_mode import mode_of
from dataflex_rl.errors import ConfigError
from dataflex_rl.output import safe_output
from dataflex_rl.record import RecordError, RunRecord, read_config, read_evaluation, read_manifest, read_metrics

_POLL = 2.0  # [s] between two looks at the record


def run_id(manifest: Mapping[str, Any]) -> str:
    """Return the W&B id of a record: the same for every attempt at it and every copy of it, another one for any other
    record, of the same configuration elsewhere too. (Records without `record_id` are older.)
    """
    keys = ("sweep", "model", "task", "regime", "method", "seed", "config_hash")
    text = json.dumps([manifest[key] for key in keys] + ([manifest["record_id"]] if "record_id" in manifest else []))
    return hashlib.blake2b(text.encode(), digest_size=8, person=b"dataflex_rl.wdb").hexdigest()


def identity(manifest: Mapping[str, Any], block: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what W&B is told of a run: project, entity, group (the sweep), id, name, tags."""
    tags = [str(manifest[key]) for key in ("method", "model", "task", "regime")] + [f"seed {manifest['seed']}"]
    return {
        "project": (block or {}).get("project") or "dataflex_rl",
        "entity": (block or {}).get("entity"),
        "group": manifest["sweep"],
        "id": run_id(manifest),
        "name": f"{manifest['method']}-{manifest['seed']}",
        "tags": [tag[:64] for tag in dict.fromkeys(tags)],  # W&B takes 64 characters
    }


def summary_of(evaluation: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the evaluations as W&B summary keys: eval/<phase>/<benchmark>/<correct|total|accuracy>, .../domain."""
    found: dict[str, Any] = {}
    for name, entry in (evaluation or {"benchmarks": {}})["benchmarks"].items():
        found[f"eval/{name}/domain"] = entry["domain"]
        for phase in ("untrained", "trained"):
            for key, value in entry.get(phase, {}).items():
                found[f"eval/{phase}/{name}/{key}"] = value
    return found


def steps_from(record: RunRecord, first: int, ended: threading.Event | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (step, data) of a record from a step on, each once: those that are there, or until `ended` is set."""
    seen = first - 1
    while True:
        last_look = ended is None or ended.is_set()
        for line in read_metrics(record)[max(seen, 0) :]:
            seen = int(line["step"])
            yield seen, {key: value for key, value in line["data"].items() if value is not None}
        if last_look:
            return
        assert ended is not None
        ended.wait(_POLL)


def log_record(record: RunRecord, *, ended: threading.Event | None = None) -> dict[str, Any]:
    """Write a record to W&B; return {"mode", "id", "project", "steps", "where"}.

    Raises:
        ConfigError: the folder holds no run record.
        Whatever W&B raises.
    """
    manifest, config = read_manifest(record), read_config(record) or {}
    if manifest is None:
        raise ConfigError(f"{record.path}: no run record there (no manifest.json)")
    block = config.get("wandb")
    mode, facts = mode_of(block, os.environ), identity(manifest, block)
    result = {"mode": mode, "id": facts["id"], "project": facts["project"], "steps": 0, "where": None}
    if mode == "disabled":
        return result
    if mode == "offline":
        read_evaluation(record)  # what cannot be read must not cost the copy that is there
        read_metrics(record)
        shutil.rmtree(record.path / "wandb", ignore_errors=True)  # written anew from the record: no step twice
    import wandb

    settings = wandb.Settings(silent=True, console="off", x_disable_stats=True, disable_code=True, disable_git=True)
    run = wandb.init(
        **facts, mode=mode, dir=str(record.path), resume="allow" if mode == "online" else None,
        config={"record": manifest}, settings=settings,
    )  # fmt: skip
    result["where"] = run.url if mode == "online" else str(Path(run.dir).parent)
    first = max(int(run.step), 1) if run.resumed else 1
    for step, data in steps_from(record, first, ended):
        run.log(data, step=step)
        result["steps"] = step
    run.config.update({"record": read_manifest(record)}, allow_val_change=True)
    run.summary.update(summary_of(read_evaluation(record)))
    run.finish()
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    safe_output()
    arguments = list(sys.argv[1:] if argv is None else argv)
    follow = "--follow" in arguments
    folders = [argument for argument in arguments if not argument.startswith("-")]
    if len(folders) != 1:
        print(__doc__)
        return 2
    try:
        result = log_record(RunRecord(Path(folders[0]).resolve()), ended=_end_of_input() if follow else None)
    except (ConfigError, RecordError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps({**result, "error": None}))
    return 0


def _end_of_input() -> threading.Event:
    """Return an event that is set when standard input ends."""
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended


if __name__ == "__main__":
    sys.exit(main())
