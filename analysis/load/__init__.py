"""Sources to one checked frame.

frame          Run, Score, Runs; ranges and duplicates
records        run records (a runs folder, a sweep, one run)
published      CSV files in the two published layouts
wandb_online   wandb:ENTITY/PROJECT through the public API
wandb_offline  offline-run-* folders as W&B leaves them on disk
metrics        learning and policy curves from metrics.jsonl
items          per-question results from eval_items.jsonl
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.errors import AnalysisError
from analysis.load import published, records, wandb_offline, wandb_online
from analysis.load.frame import Broken, LeftOut, Run, Runs, Score, checked, describe, unconstrained

__all__ = ["Broken", "LeftOut", "Run", "Runs", "Score", "checked", "describe", "load", "unconstrained"]


def load(sources: Sequence[str]) -> Runs:
    """Load and check all sources together.

    A source is a folder of run records, a folder of W&B offline runs, a CSV file, or `wandb:ENTITY/PROJECT`.
    Raises AnalysisError naming the source when it is none of them, is empty, or breaks its schema.
    """
    if not sources:
        raise AnalysisError("no source given; expected --runs FOLDER, FILE.csv or wandb:ENTITY/PROJECT")
    runs: list[Run] = []
    notes: list[str] = []
    for source in sources:
        found, said = _load_one(source)
        runs += found
        notes += said
    if not runs:
        raise AnalysisError(f"{', '.join(sources)}: no usable run; {'; '.join(notes) or 'nothing was found'}")
    folders = [Path(s) for s in sources if not s.startswith("wandb:") and Path(s).is_dir()]
    return checked(runs, notes, [left for folder in folders for left in records.left_out(folder)])


def _load_one(source: str) -> tuple[list[Run], list[str]]:
    if source.startswith("wandb:"):
        return wandb_online.load(source.removeprefix("wandb:"))
    path = Path(source)
    if path.is_file():
        return published.load(path)
    if not path.is_dir():
        raise AnalysisError(
            f"{source}: no such file or folder; expected a runs folder, a CSV file or wandb:ENTITY/PROJECT"
        )
    if records.find(path):
        return records.load(path)
    if wandb_offline.find(path):
        return wandb_offline.load(path)
    raise AnalysisError(f"{source}: no run record (manifest.json) and no W&B offline run (*.wandb) in this folder")
