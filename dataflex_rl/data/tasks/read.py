"""Raw rows: from a hub, a folder or a file, with the columns a reader needs checked first."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dataflex_rl.data.tasks.layout import Remote, choose
from dataflex_rl.errors import ConfigError

Raw = dict[str, Any]


def read_rows(name: str, remote: Remote, columns: Sequence[str], source: str) -> list[Raw]:
    """Return the raw rows of a dataset, each with at least `columns`.

    Args:
        name: the dataset's short name, by which `choose` finds its files in a folder.
        remote: where the hub has it, and which configuration and split of it are meant.
        columns: what its reader needs.
        source: `hub`, or a path to a file or a folder.

    Raises:
        ConfigError: as `choose`; an unreadable or empty file, a missing column; the hub cannot be reached, or asks for
            a consent that was not given.
    """
    if source == "hub":
        rows = list(_from_hub(name, remote))
    else:
        rows = [row for file in choose(name, remote, source).files for row in read_file(file)]
    if not rows:
        raise ConfigError(f"{name}: {source} has no rows")
    missing = [column for column in columns if column not in rows[0]]
    if missing:
        raise ConfigError(
            f"{name}: {source} has no column {', '.join(map(repr, missing))}; expected {', '.join(columns)}; "
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
            return _table(text)
        rows = json.loads(text) if text.lstrip().startswith("[") else _lines(text)
    except (OSError, pa.ArrowException, ValueError, csv.Error, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read ({(str(error) or type(error).__name__).splitlines()[0]})") from error
    if not all(isinstance(row, dict) for row in rows):
        raise ConfigError(f"{path}: expected one JSON object per row")
    return list(rows)


def _table(text: str) -> list[Raw]:
    """Return the rows of a CSV text; ValueError where one has another number of cells than the header."""
    reader = csv.DictReader(io.StringIO(text))
    rows = []
    for row in reader:
        if None in row or None in row.values():
            cells = len(row) - 1 + len(row[None]) if None in row else sum(value is not None for value in row.values())
            raise ValueError(f"line {reader.line_num}: {cells} cells, the header has {len(reader.fieldnames or ())}")
        rows.append(dict(row))
    return rows


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
