"""The card of prepared data: what was read, kept and dropped and why, in one JSON file beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dataflex_rl.data.cache import is_there
from dataflex_rl.data.tasks.items import Item
from dataflex_rl.data.tasks.layout import choose
from dataflex_rl.data.tasks.read import revision_of
from dataflex_rl.data.tasks.source import Loaded, Source
from dataflex_rl.errors import ConfigError
from dataflex_rl.seeding import dataset_fingerprint

FILE = "card.json"


def source_entry(source: Source, where: str, loaded: Loaded) -> dict[str, Any]:
    """Return what a card says of one source: repository and revision, or path, files read and left out and why; rows in
    and out, dropped and why.
    """
    if where == "hub":
        origin: dict[str, Any] = {"repo": source.remote.repo, "revision": revision_of(source.name, source.remote)}
    else:
        chosen = choose(source.name, source.remote, where)
        origin = {"path": where, "files": list(map(str, chosen.files)), "left_out": chosen.left_out}
    return {
        "source": source.name,
        "domain": source.domain,
        **origin,
        "rows_in": loaded.rows,
        "rows_out": len(loaded.items),
        "dropped": dict(sorted(loaded.dropped.items())),
    }


def lines(folder: Path) -> list[str]:
    """Return what the card of a folder says of its sources, one line each: rows read, taken and dropped, and of which
    files; none for a folder without public sources.
    """
    sources = json.loads((folder / FILE).read_text(encoding="utf-8"))["sources"]
    return [_line(entry) for entry in sources if isinstance(entry, dict) and "rows_in" in entry]


def _line(entry: Mapping[str, Any]) -> str:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in entry["dropped"].items())
    parts = [f"{entry['source']}: {entry['rows_in']:,} rows read, {entry['rows_out']:,} taken"]
    parts += [f"dropped: {reasons}"] if reasons else []
    if entry.get("files"):
        parts.append(f"files: {', '.join(Path(file).name for file in entry['files'])}")
    if entry.get("left_out"):
        parts.append("not read: " + ", ".join(f"{file} ({why})" for file, why in entry["left_out"].items()))
    return "; ".join(parts)


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
