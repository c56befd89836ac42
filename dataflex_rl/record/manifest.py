"""manifest.json: what was run, with which versions, on which data."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from dataflex_rl.record.files import RecordError, read_object, write_json
from dataflex_rl.record.paths import RunRecord
from dataflex_rl.record.status import now

KEYS = (
    "schema", "sweep", "method", "scorer", "actuator", "mixer", "model", "task", "regime", "seed", "steps", "host",
    "versions", "config_hash", "dataset_fingerprint", "prompt_stream_digest", "evaluation_digest", "git_revision",
    "started", "finished",
)  # fmt: skip
_SET_HERE = ("schema", "versions", "started", "finished", "prompt_stream_digest")
_PACKAGES = {
    "torch": "torch",
    "verl": "verl",
    "ray": "ray",
    "TransferQueue": "TransferQueue",
    "dataflex_rl": "dataflex_rl",
}


def write_manifest(record: RunRecord, **values: Any) -> dict[str, Any]:
    """Write the manifest at the start of a run; returns it.

    Expected: every key of KEYS but schema, versions, started (set here) and finished, prompt_stream_digest (None until
    `update_manifest` fills them at the end). Further keys are welcome.
    """
    filled = {"schema": 1, "versions": versions(), "started": now(), "finished": None, "prompt_stream_digest": None}
    missing = [key for key in KEYS if key not in values and key not in _SET_HERE]
    assert not missing, f"the manifest lacks {', '.join(missing)}"
    manifest = {**filled, **values}
    write_json(record.manifest, manifest)
    return manifest


def read_manifest(record: RunRecord) -> dict[str, Any] | None:
    """Return the manifest, or None if there is none; RecordError if it is broken or lacks a key."""
    manifest = read_object(record.manifest)
    missing = [] if manifest is None else [key for key in KEYS if key not in manifest]
    if missing:
        raise RecordError(f"run record: {record.manifest} lacks {', '.join(missing)}")
    return manifest


def update_manifest(record: RunRecord, **changes: Any) -> dict[str, Any]:
    """Change some keys, say `finished=now(), prompt_stream_digest=...`; RecordError if there is no manifest."""
    manifest = read_manifest(record)
    if manifest is None:
        raise RecordError(f"run record: {record.manifest} is missing")
    manifest |= changes
    write_json(record.manifest, manifest)
    return manifest


def versions() -> dict[str, str | None]:
    """Return the versions of what the numbers depend on, without importing any of it; None: not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name, package in _PACKAGES.items():
        try:
            found[name] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def git_revision(folder: Path) -> str | None:
    """Return the commit of a checkout, with "+changes" where tracked files differ from it; None outside of one."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+changes" if changed else commit


def _git(folder: Path, *arguments: str) -> str:
    """Return what a git command prints."""
    done = subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()
