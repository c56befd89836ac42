"""One seed, many streams: sampling seeds, prompt identity, digests of what a run consumed.

Every source of randomness of a run takes its own stream of the run's one seed, so that the draws of a policy never
shift the prompt stream, and two methods at the same seed that meet the same prompt draw the same random numbers.

- parse_seed: the check of a user's `seed`
- stream_seed: (seed, names and numbers) -> the seed of one stream; PROMPT_STREAM names that of prompt selectors
- prompt_key: chat messages -> the identity of a prompt, by content
- StreamDigest: digests of the prompts consumed, over all and per domain, comparable on a common prefix
- dataset_fingerprint: dataset files -> the identity of their rows
"""

from __future__ import annotations

import copy
import hashlib
import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dataflex_rl.errors import ConfigError

PROMPT_STREAM = "prompts"  # of what a prompt selector draws, by draw, domain and round
_SEED_LIMIT = 2**32  # what numpy's and transformers' seeding functions take
_MARKS = 256  # most prefix digests kept per stream; the spacing doubles where more would be needed
_ROWS = 1024  # rows of a parquet file held at a time


def parse_seed(value: object) -> int:
    """Return a run's seed: an integer in 0..2**32 - 1 (numpy integers too; a bool is none).

    Raises:
        ConfigError: anything else.
    """
    expected = f"seed={value!r}: expected an integer from 0 to {_SEED_LIMIT - 1}"
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise ConfigError(f"{expected}, got {type(value).__name__}")
    number = operator.index(value)
    if not 0 <= number < _SEED_LIMIT:
        raise ConfigError(expected)
    return number


def stream_seed(seed: int, *names: str | int) -> int:
    """Return the seed of one stream, in 0..2**63 - 1: the same for the same arguments, on every machine.

    `stream_seed(seed, "rollout", key, draw, rollout_index)` seeds one rollout request. Every argument is encoded with
    its type and length, so ("ab", "c") and ("a", "bc"), or 1 and "1", are different streams.
    """
    digest = hashlib.blake2b(digest_size=8, person=b"dataflex_rl.seed")
    for name in (seed, *names):
        text = (name if isinstance(name, str) else str(operator.index(name))).encode("utf-8", "surrogatepass")
        digest.update(b"%c%d:" % (b"s" if isinstance(name, str) else b"i", len(text)) + text)
    return int.from_bytes(digest.digest(), "big") >> 1


def prompt_key(messages: object) -> str:
    """Return the identity of a prompt: 16 hex digits over the content of its chat messages.

    The key survives a trip through parquet and pandas: arrays count as lists, a key without a value as absent.
    Images and the like are hashed by their bytes.

    Args:
        messages: list, tuple or numpy array of {"role": str, "content": str or list of {"type": ...} parts}.

    Raises:
        ConfigError: not chat messages (a string, an empty list, a message without role or content, ...).
    """
    text = json.dumps(_chat(messages), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8, person=b"dataflex_rl.key").hexdigest()


def _chat(messages: object) -> list[Any]:
    """Return the messages as plain lists and dicts without empty values; ConfigError where they are none."""
    expected = 'expected chat messages: a list of {"role": ..., "content": ...}'
    if not isinstance(messages, list | tuple | np.ndarray):
        raise ConfigError(f"prompt is {type(messages).__name__} {_short(messages)}: {expected}")
    if len(messages) == 0:
        raise ConfigError(f"prompt is an empty list: {expected}")
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise ConfigError(f"prompt message {number} is {type(message).__name__} {_short(message)}: {expected}")
        if not isinstance(message.get("role"), str) or not message["role"]:
            raise ConfigError(f"prompt message {number} has role {_short(message.get('role'))}: {expected}")
        _check_content(number, message.get("content"))
    plain = _plain(messages)
    assert isinstance(plain, list)
    return plain


def _check_content(number: int, content: object) -> None:
    """Refuse a content that is neither text nor a non-empty list of typed parts."""
    if isinstance(content, str):
        return
    if not isinstance(content, list | tuple | np.ndarray) or len(content) == 0:
        raise ConfigError(
            f"prompt message {number} has content {_short(content)} ({type(content).__name__}): "
            'expected text or a non-empty list of {"type": ...} parts'
        )
    for part in content:
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise ConfigError(f'prompt message {number} has a content part {_short(part)}: expected {{"type": ...}}')


def _plain(value: Any) -> Any:
    """Return a JSON-ready copy: arrays as lists, no None in dicts, binary values by hash."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, bytes | bytearray | memoryview):
        return {"\0bytes": hashlib.blake2b(bytes(value), digest_size=16).hexdigest()}
    if hasattr(value, "tobytes"):  # an image or a tensor: its shape is part of it
        shape = [str(getattr(value, name, "")) for name in ("mode", "size", "shape")]
        return {"\0object": [*shape, _plain(value.tobytes())]}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ConfigError(f"prompt holds a {type(value).__name__} {_short(value)}: expected text, numbers, bytes or images")


def _short(value: object) -> str:
    """Return a value's repr on one line, cut to 60 characters."""
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


class StreamDigest:
    """Order-sensitive digests of the prompts a run consumed, over all and per domain.

    Each stream holds its prompt count, a chained digest, and *marks*: the digest after every `every` prompts. At most
    256 marks are kept (`every` doubles), so a record stays small; two streams of different length are compared on
    their longest common mark (see `dataflex_rl.record.streams`): exactly up to 256 prompts, to within 1/128 above.
    """

    def __init__(self) -> None:
        self._streams: dict[str, dict[str, Any]] = {}
        self._all = _new_stream()

    def update(self, key: str, domain: str, draw: int) -> None:
        """Append one consumed prompt: its key, its domain, how often it had been drawn before."""
        _append(self._all, f"{key} {draw} {domain}")
        _append(self._streams.setdefault(domain, _new_stream()), f"{key} {draw}")

    def state_dict(self) -> dict[str, Any]:
        """Return {"all": stream, "domains": {name: stream}}: the state, and what the manifest records; plain JSON.

        A stream is {"count": prompts, "digest": 16 hex, "every": prompts per mark, "marks": [16 hex, ...]}; mark i is
        the digest after (i + 1) * every prompts.
        """
        return copy.deepcopy({"all": self._all, "domains": dict(sorted(self._streams.items()))})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; the digest then equals one that was never interrupted."""
        assert set(state) == {"all", "domains"}, f"not the state of a StreamDigest: {sorted(state)}"
        self._all, self._streams = copy.deepcopy(state["all"]), copy.deepcopy(state["domains"])


def _new_stream() -> dict[str, Any]:
    """Return the stream of no prompts."""
    return {"count": 0, "digest": "0" * 16, "every": 1, "marks": []}


def _append(stream: dict[str, Any], entry: str) -> None:
    """Add one entry to a stream in place; drop every second mark where there are too many."""
    chained = f"{stream['digest']} {entry}".encode("utf-8", "surrogatepass")
    stream["digest"] = hashlib.blake2b(chained, digest_size=8, person=b"dataflex_rl.strm").hexdigest()
    stream["count"] += 1
    if stream["count"] % stream["every"] == 0:
        stream["marks"].append(stream["digest"])
    if len(stream["marks"]) > _MARKS:
        stream["every"] *= 2
        stream["marks"] = stream["marks"][1::2]


def dataset_fingerprint(
    files: str | Path | Sequence[str | Path], *, prompt_column: str = "prompt", domain_column: str = "domain"
) -> str:
    """Return the identity of dataset files: 16 hex digits over their rows, in order.

    What counts of a row: prompt, data_source, domain and ground truth. Paths, compression, other columns and how the
    rows are cut into files do not. Reads parquet and, as verl does, .json / .jsonl with one object per line.

    Raises:
        ConfigError: a file is missing, unreadable or empty, has no prompt column, or a prompt is no chat message list.
    """
    digest = hashlib.blake2b(digest_size=8, person=b"dataflex_rl.data")
    for file in [files] if isinstance(files, str | Path) else files:
        count = 0
        for row in _rows(Path(file), [prompt_column, "data_source", domain_column, "reward_model"]):
            try:
                key = prompt_key(row.get(prompt_column))
            except ConfigError as error:
                raise ConfigError(f"dataset file {file}: row {count}: {error}") from None
            truth = (row.get("reward_model") or {}).get("ground_truth")
            entry = _plain([key, row.get("data_source"), row.get(domain_column), truth])
            digest.update(json.dumps(entry, sort_keys=True).encode() + b"\n")
            count += 1
        if count == 0:
            raise ConfigError(f"dataset file {file}: no rows")
    return digest.hexdigest()


def _rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a dataset file with those of `columns` it has; the first (the prompt) must be there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix in {".json", ".jsonl"}:
            with path.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines if line.strip())
            return
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if columns[0] not in names:
                raise ConfigError(f"dataset file {path}: no column '{columns[0]}'; has: {', '.join(names)}")
            for batch in file.iter_batches(batch_size=_ROWS, columns=[name for name in columns if name in names]):
                yield from batch.to_pylist()
    except (OSError, pa.ArrowException, UnicodeDecodeError, json.JSONDecodeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ConfigError(f"dataset file {path}: cannot be read ({reason})") from error
