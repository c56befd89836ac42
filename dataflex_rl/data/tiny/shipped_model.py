"""The finished model of the default options, part of the package, so that a new machine trains nothing.

Pre-training gives other bits on another processor or version of torch; the files in `shipped/` are the same everywhere,
so runs of different machines start from the same model. `scripts/build_tiny.py --ship` writes them with the builder.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from dataflex_rl.data.tiny import toy3
from dataflex_rl.data.tiny.options import MODEL_VERSION, ModelOptions
from dataflex_rl.errors import ConfigError

FOLDER = Path(__file__).parent / "shipped"
FACTS_FILE, SUMS_FILE = "build.json", "SHA256SUMS"


def model_facts(options: ModelOptions) -> dict[str, object]:
    """Return what decides the model: versions of pre-training and task, and the options; `build.json` repeats them."""
    return {"version": MODEL_VERSION, "task_version": toy3.VERSION, "knobs": dataclasses.asdict(options)}


def is_shipped(options: ModelOptions, source: Path = FOLDER) -> bool:
    """Return whether the package holds the model of these options and of the present versions."""
    file = source / FACTS_FILE
    facts = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    expected = model_facts(options)
    return {key: facts.get(key) for key in expected} == expected


def copy_shipped(folder: Path, source: Path = FOLDER) -> None:
    """Copy the shipped model into an existing folder, each file checked against its SHA-256.

    Raises:
        ConfigError: a file is missing or has another digest.
    """
    for name, digest in _sums(source).items():
        content = (source / name).read_bytes() if (source / name).is_file() else b""
        found = hashlib.sha256(content).hexdigest()
        if found != digest:
            what = f"has SHA-256 {found[:16]}" if content else "is missing or empty"
            raise ConfigError(f"embedded model: {source / name} {what}, expected {digest[:16]}; reinstall dataflex_rl")
        (folder / name).write_bytes(content)


def ship(built: Path, target: Path = FOLDER) -> None:
    """Replace the shipped files by those of a built model, and write their digests."""
    new = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    lines = []
    for file in sorted(built.iterdir()):
        shutil.copyfile(file, new / file.name)
        lines.append(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n")
    (new / SUMS_FILE).write_text("".join(lines), encoding="utf-8")
    new.chmod(0o755)
    shutil.rmtree(target, ignore_errors=True)
    new.replace(target)


def _sums(source: Path) -> dict[str, str]:
    """Return {file name: SHA-256} in the format of `sha256sum`."""
    lines = (source / SUMS_FILE).read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
