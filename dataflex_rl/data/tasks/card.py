"""The card of prepared data: what was read, kept and dropped and why, in one JSON file beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dataflex_rl.data.cache import is_there
from dataflex_rl.data.tasks.items import Item
from dataflex_rl.data.tasks.read import revision_of
from dataflex_rl.data.tasks.source import Loaded, Source
from dataflex_rl.errors import ConfigError
from dataflex_rl.seeding import dataset_fingerprint

FILE = "card.json"


def source_entry(source: Source, where: str, loaded: Loaded) -> dict[str, Any]:
    """Return what a card says of one source: repository and revision (or path), rows in and out, dropped and why."""
    origin = {"path": where}
    if where == "hub":
        origin = {"repo": source.remote.repo, "revision": revision_of(source.name, source.remote)}
    return {
        "source": source.name,
        "domain": source.domain,
        **origin,
        "rows_in": loaded.rows,
        "rows_out": len(loaded.items),
        "dropped": dict(sorted(loaded.dropped.items())),
    }


def counts(items: Iterable[Item]) -> dict[str, int]:
    """Return the number of items per source, sorted."""
    return dict(sorted(Counter(item.source for item in items).items()))


def level_counts(items: Iterable[Item]) -> dict[str, dict[str, int]]:
    """Return {domain: {level: number of items}}, sorted."""
    found = Counter((item.domain, item.difficulty) for item in items)
    levels: dict[str, dict[str, int]] = {}
    for (domain, level), count in sorted(found.items()):
        levels.setdefault(domain, {})[str(level)] = count
    return levels


def write_card(folder: Path, name: str, files: Mapping[str, Path], sources: Sequence[Any], **facts: Any) -> Path:
    """Write the card of some parquet files (split -> path) and return its path."""
    card = {
        "schema": 1,
        "name": name,
        **facts,
        "sources": list(sources),
        "files": {split: _file_entry(path) for split, path in files.items()},
    }
    path = folder / FILE
    path.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return path


def _file_entry(path: Path) -> dict[str, Any]:
    return {"file": path.name, "bytes": path.stat().st_size, "fingerprint": dataset_fingerprint(path)}


def is_whole(folder: Path) -> bool:
    """Return whether all files that the folder's card names are there in the sizes it names.

    A folder without a card holds a user's own data, of which nothing more is known. Sizes are not known of the cards
    that were written before they had any.

    Raises:
        ConfigError: the card or a file cannot be read, so that nobody can say.
    """
    path = folder / FILE
    if not is_there(path):
        return True
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["files"].values()
        sizes = [((folder / entry["file"]).stat().st_size, entry) for entry in entries]
        return all(size == entry.get("bytes", size) for size, entry in sizes)
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return False
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be read ({error.strerror or error})") from error
