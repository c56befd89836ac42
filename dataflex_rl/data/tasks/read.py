"""Raw rows: from a hub, a folder or a file, with the columns a reader needs checked first."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataflex_rl.data.tasks.folder import home
from dataflex_rl.errors import ConfigError

SUFFIXES = (".parquet", ".jsonl", ".json", ".csv")


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A public dataset: repository, configurations, split, revision, and whether its owner asks for a consent first.

    `files`: names under which its parts are looked for in a local folder (without suffix), one per configuration.
    """

    repo: str
    split: str
    configs: tuple[str | None, ...] = (None,)
    splits: tuple[str, ...] = ()
    revision: str = "main"
    gated: bool = False

    def parts(self) -> list[tuple[str | None, str]]:
        """Return every (configuration, split) to read, in order."""
        return [(config, split) for config in self.configs for split in (self.splits or (self.split,))]


Raw = dict[str, Any]


def read_rows(name: str, remote: Remote, columns: Sequence[str], source: str) -> list[Raw]:
    """Return the raw rows of a dataset, each with at least `columns`.

    Args:
        name: the dataset's short name; in a folder its file is `<name>.<suffix>`, its parts `<name>/*.<suffix>`.
        remote: where the hub has it.
        columns: what its reader needs.
        source: `hub`, or a path to a file or a folder.

    Raises:
        ConfigError: no such file, an unreadable or empty one, a missing column; the hub cannot be reached, or asks for
            a consent that was not given.
    """
    rows = list(_from_hub(name, remote) if source == "hub" else _from_path(name, home(Path(source))))
    if not rows:
        raise ConfigError(f"{name}: {source} has no rows")
    missing = [column for column in columns if column not in rows[0]]
    if missing:
        raise ConfigError(
            f"{name}: {source} has no column {', '.join(map(repr, missing))}; wanted {', '.join(columns)}; "
            f"it has: {', '.join(map(str, rows[0]))}"
        )
    return rows


def _from_hub(name: str, remote: Remote) -> Iterator[Raw]:
    import datasets

    for config, split in remote.parts():
        try:
            yield from datasets.load_dataset(remote.repo, config, split=split, revision=remote.revision)
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigError(_hub_message(name, remote, error)) from error


def revision_of(name: str, remote: Remote) -> str:
    """Return the commit of a dataset on the hub that its revision names.

    Raises:
        ConfigError: the hub cannot be reached, or does not show it.
    """
    from huggingface_hub import HfApi

    try:
        return str(HfApi().dataset_info(remote.repo, revision=remote.revision).sha)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(_hub_message(name, remote, error)) from error


def _hub_message(name: str, remote: Remote, error: Exception) -> str:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    terms = "it is gated: accept its terms on its page, log in with `hf auth login`, and run this again; or "
    return (
        f"{name}: {remote.repo} cannot be read from the hub ({reason}); {terms if remote.gated else ''}"
        "pass source=PATH with a local copy"
    )


def _from_path(name: str, path: Path) -> Iterator[Raw]:
    for file in _files(name, path):
        yield from read_file(file)


def _files(name: str, path: Path) -> list[Path]:
    """Return the files of a dataset: the path itself, `<path>/<name>.<suffix>`, or all of `<path>/<name>/`.

    Raises:
        ConfigError: none of them is there, more than one is, or the path cannot be looked into.
    """
    try:
        if path.is_file():
            return [path]
        beside = sorted(path.iterdir()) if path.is_dir() else []
        single = [file for file in beside if file.stem == name and file.suffix.lower() in SUFFIXES and file.is_file()]
        below = (Path(at, file) for at, _, files in os.walk(path / name, onerror=_refuse) for file in files)
        many = sorted(file for file in below if file.suffix.lower() in SUFFIXES and file.is_file())
    except OSError as error:
        raise ConfigError(f"{name}: source={path} cannot be read ({error.strerror})") from error
    if not single and not many:
        raise ConfigError(
            f"{name}: source={path} has no {name}{{{','.join(SUFFIXES)}}} and no folder {name} with such files"
        )
    places = [file.name for file in single] + ([f"{name}/"] if many else [])
    if len(places) > 1:
        raise ConfigError(f"{name}: source={path} has {' and '.join(places)}; wanted one of them, so that it is clear")
    return single or many


def _refuse(error: OSError) -> None:
    """Raise what os.walk would pass over: a folder that is not there holds nothing, one that cannot be read might."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def read_file(path: Path) -> list[Raw]:
    """Return the rows of a parquet, JSON lines, JSON (a list of objects) or CSV file.

    Raises:
        ConfigError: it cannot be read, or is no table.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix.lower() == ".parquet":
            return list(pq.read_table(path).to_pylist())
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":
            return list(csv.DictReader(io.StringIO(text)))
        rows = json.loads(text) if text.lstrip().startswith("[") else _lines(text)
    except (OSError, pa.ArrowException, ValueError, csv.Error, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read ({(str(error) or type(error).__name__).splitlines()[0]})") from error
    if not all(isinstance(row, dict) for row in rows):
        raise ConfigError(f"{path}: wanted one JSON object per row")
    return list(rows)


def _lines(text: str) -> list[Any]:
    """Return the values of JSON lines; only a line feed ends a line, other separators can stand in texts."""
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise ValueError(f"line {number} column {error.colno}: {error.msg}") from error
    return rows
