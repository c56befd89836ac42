"""The card of prepared data: what was read, kept and dropped and why, in one JSON file beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dataflex_rl.seeding import dataset_fingerprint
from dataflex_rl.tasks.items import Item
from dataflex_rl.tasks.read import revision_of
from dataflex_rl.tasks.source import Loaded, Source

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


def write_card(folder: Path, name: str, files: Mapping[str, Path], sources: Sequence[Any], **facts: Any) -> Path:
    """Write the card of some parquet files (split -> path) and return its path."""
    card = {
        "schema": 1,
        "name": name,
        **facts,
        "sources": list(sources),
        "files": {
            split: {"file": path.name, "fingerprint": dataset_fingerprint(path)} for split, path in files.items()
        },
    }
    path = folder / FILE
    path.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return path
