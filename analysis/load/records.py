"""Run records: folders with manifest.json, eval.json, status.json, cost.json, metrics.jsonl."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError
from analysis.load.frame import Broken, LeftOut, Run, Score
from dataflex_rl.record.pairs import kind_of

_SKIPPED = re.compile(r"\.old-\d+$")
_PARTS = frozenset(("manifest.json", "eval.json", "status.json", "metrics.jsonl"))
_NO_REGIME: tuple[Any, ...] = (None, "", {})
_OPEN = ("pending", "running", "failed", "interrupted")


def find(root: Path, refused: Callable[[OSError], None] | None = None) -> list[Path]:
    """List the run folders under root, root itself included, in name order: those that hold a part of a record.

    Checkpoints are not searched, and records set aside (`*.old-N`) do not count. `refused` hears of each folder that
    cannot be read.
    """
    found: list[Path] = []
    for folder, names, files in os.walk(root, onerror=refused):
        if not _PARTS.isdisjoint(files):
            found.append(Path(folder))
            names.clear()
            continue
        names[:] = sorted(n for n in names if n != "checkpoints" and not _SKIPPED.search(n))
    return found


def load(root: Path) -> tuple[list[Run], list[str]]:
    """Read all records under root. A run that is not done, or has no trained evaluation, is left out and named.

    So is a record that breaks its contract or cannot be read, by a note of its own kind (Broken): the others go on.
    """
    runs: list[Run] = []
    notes: list[str] = []
    for folder in find(root, lambda error: notes.append(Broken(f"{error.filename}: left out: {error.strerror}"))):
        try:
            why = _unfinished(folder)
            if why:
                notes.append(f"{folder}: left out: {why}")
            else:
                runs.append(read(folder))
        except (AnalysisError, OSError) as error:
            notes.append(Broken(f"{folder}: left out: {error}"))
    return runs, notes


def left_out(root: Path) -> list[LeftOut]:
    """List the runs under root that were planned and have no usable result: what a verdict must not pass over.

    A record whose manifest does not say what it is cannot be listed; `load` names it as broken.
    """
    found = []
    for folder in find(root):
        try:
            if (folder / "manifest.json").exists() and _unfinished(folder):
                found.append(_planned(folder))
        except (AnalysisError, OSError):
            continue
    return found


def _planned(folder: Path) -> LeftOut:
    manifest, where = read_json(folder / "manifest.json"), folder / "eval.json"
    status = read_json(folder / "status.json") if (folder / "status.json").exists() else {}
    state = str(status.get("state"))
    return LeftOut(
        model=_text(where, manifest, "model"),
        task=_text(where, manifest, "task"),
        regime=_regime(manifest),
        steps=_whole(where, "steps", manifest.get("steps")),
        method=_text(where, manifest, "method"),
        seed=_whole(where, "seed", manifest.get("seed")),
        state=state if state in _OPEN else "broken",
    )


def read(folder: Path) -> Run:
    """Read one finished record. Raises AnalysisError naming the file and key that breaks the record's contract."""
    manifest = read_json(folder / "manifest.json")
    evaluation = read_json(folder / "eval.json")
    cost = read_json(folder / "cost.json") if (folder / "cost.json").exists() else {}
    return build(manifest, evaluation, cost, source=str(folder.resolve()), where=folder / "eval.json", path=folder)


def build(
    manifest: Mapping[str, Any],
    evaluation: Mapping[str, Any],
    cost: Mapping[str, Any],
    *,
    source: str,
    where: Path,
    path: Path | None,
) -> Run:
    """Make a Run of a record's parts; `where` names the evaluation in errors."""
    benchmarks = evaluation.get("benchmarks")
    if not isinstance(benchmarks, dict) or not benchmarks:
        raise AnalysisError(
            f"{where}: key 'benchmarks' is {benchmarks!r}; expected an object with one entry per benchmark"
        )
    trained, untrained = _scores(where, benchmarks, "trained"), _scores(where, benchmarks, "untrained")
    steps = evaluation.get("steps") if manifest.get("steps") is None else manifest["steps"]
    return Run(
        run_id="/".join(source.split("/")[-4:]),
        source=source,
        model=_text(where, manifest, "model"),
        task=_text(where, manifest, "task"),
        regime=_regime(manifest),
        steps=_whole(where, "steps", steps),
        evaluation=str(manifest.get("evaluation_digest") or _layout(trained)),
        method=_text(where, manifest, "method"),
        seed=_whole(where, "seed", manifest.get("seed")),
        trained=trained,
        untrained=untrained,
        domains=tuple(dict.fromkeys(s.domain for s in trained)),
        kind=_kind(manifest),
        path=path,
        manifest=manifest,
        cost=cost,
    )


def read_json(path: Path) -> dict[str, Any]:
    """Read one JSON object. Raises AnalysisError naming the file."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise AnalysisError(f"{path}: not readable as JSON: {error}") from error
    if not isinstance(value, dict):
        raise AnalysisError(f"{path}: a JSON {type(value).__name__}; expected an object")
    return value


def _unfinished(folder: Path) -> str | None:
    """Say why a run does not count as done, or None."""
    if not (folder / "manifest.json").exists():
        return "no manifest.json"
    status = folder / "status.json"
    if status.exists():
        state = read_json(status).get("state")
        if state != "done":
            return f"state is {state!r}, not 'done'"
    if not (folder / "eval.json").exists():
        return "no eval.json"
    entries = read_json(folder / "eval.json").get("benchmarks")
    if (
        isinstance(entries, dict)
        and entries
        and not any("trained" in e for e in entries.values() if isinstance(e, dict))
    ):
        return "eval.json has no trained evaluation"
    return None


def _scores(where: Path, benchmarks: Mapping[str, Any], phase: str) -> tuple[Score, ...]:
    scores = []
    for name, entry in benchmarks.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("domain"), str):
            raise AnalysisError(f"{where}: benchmark {name!r}: expected an object with a 'domain'")
        cell = entry.get(phase)
        if cell is None:
            if phase == "trained":
                scores.append(Score(benchmark=name, domain=entry["domain"], accuracy=math.nan))
            continue
        scores.append(_score(where, name, entry["domain"], phase, cell))
    return tuple(scores)


def _score(where: Path, name: str, domain: str, phase: str, cell: Any) -> Score:
    at = f"{where}: benchmark {name!r}, {phase}"
    if not isinstance(cell, dict):
        raise AnalysisError(f"{at}: {cell!r}; expected correct, total, accuracy")
    correct, total, accuracy = cell.get("correct"), cell.get("total"), cell.get("accuracy")
    counts = [c for c in (correct, total) if isinstance(c, int) and not isinstance(c, bool)]
    if len(counts) == 2:
        if not 0 <= counts[0] <= counts[1] or counts[1] == 0:
            raise AnalysisError(f"{at}: {counts[0]} correct of {counts[1]}; expected 0 <= correct <= total, total > 0")
        exact = counts[0] / counts[1]
        if isinstance(accuracy, (int, float)) and abs(accuracy - exact) > 1e-3:
            raise AnalysisError(
                f"{at}: accuracy {accuracy!r} is not {counts[0]}/{counts[1]} (expected a share in 0..1)"
            )
        return Score(
            benchmark=name, domain=domain, accuracy=100.0 * counts[0] / counts[1], correct=counts[0], total=counts[1]
        )
    if correct is not None or total is not None or not isinstance(accuracy, (int, float)):
        raise AnalysisError(f"{at}: correct {correct!r}, total {total!r}, accuracy {accuracy!r}; expected whole counts")
    if not 0.0 <= accuracy <= 1.0:
        raise AnalysisError(f"{at}: accuracy {accuracy!r} is outside 0..1")
    return Score(benchmark=name, domain=domain, accuracy=100.0 * accuracy)


def _layout(scores: tuple[Score, ...]) -> str:
    return ", ".join(f"{s.benchmark}:{s.total if s.total is not None else '?'}" for s in scores)


def _kind(manifest: Mapping[str, Any]) -> str | None:
    """Read off what the run does to its data: "policy", "mixer", "prompts" or None."""
    return kind_of(*(_component(manifest.get(part)) for part in ("actuator", "mixer", "prompt_selector")))


def _component(value: Any) -> str | None:
    name = value.get("name") if isinstance(value, dict) else value
    return name if isinstance(name, str) else None


def _regime(manifest: Mapping[str, Any]) -> str | None:
    regime = manifest.get("regime")
    if regime in _NO_REGIME:
        return None
    return regime if isinstance(regime, str) else json.dumps(regime, sort_keys=True)


def _text(where: Path, manifest: Mapping[str, Any], key: str) -> str:
    value = manifest.get(key)
    if not isinstance(value, str) or not value:
        raise AnalysisError(f"{where.parent / 'manifest.json'}: key {key!r} is {value!r}; expected a name")
    return value


def _whole(where: Path, key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise AnalysisError(f"{where.parent / 'manifest.json'}: key {key!r} is {value!r}; expected a whole number >= 0")
    return value
