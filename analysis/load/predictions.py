"""predictions.json of a record: how good the solve rates were that a prompt selector predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError
from analysis.load.records import read_json

FILE = "predictions.json"
VISITS = ("first", "later")  # of a prompt: its first, all others


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Responses whose prompts had a predicted solve rate in low..high, their mean predicted and observed rate."""

    low: float
    high: float
    responses: float
    predicted: float
    observed: float


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The predictions of first or of later visits: Brier scores of the rule and of its domain's mean, calibration."""

    responses: float
    brier: float
    brier_domain: float
    bins: tuple[Bin, ...]


def read_predictions(folder: Path | None) -> dict[str, Scored]:
    """Read {visits: Scored}, empty where the record has none. Raises AnalysisError naming the file that is broken."""
    path = None if folder is None else folder / FILE
    if path is None or not path.exists():
        return {}
    passes = read_json(path).get("passes")
    try:
        assert isinstance(passes, Mapping)
        return {visits: _scored(passes[visits]) for visits in VISITS if visits in passes}
    except (AssertionError, KeyError, TypeError) as error:
        raise AnalysisError(f"{path}: expected passes with responses, brier, brier_domain and calibration") from error


def pooled(scored: Sequence[Scored]) -> Scored:
    """Pool the predictions of several runs over their responses."""
    total = sum(one.responses for one in scored)
    bins: dict[float, list[Bin]] = {}
    for one in scored:
        for part in one.bins:
            bins.setdefault(part.low, []).append(part)
    return Scored(
        responses=total,
        brier=sum(one.brier * one.responses for one in scored) / total,
        brier_domain=sum(one.brier_domain * one.responses for one in scored) / total,
        bins=tuple(_pooled(found) for _, found in sorted(bins.items())),
    )


def _pooled(found: Sequence[Bin]) -> Bin:
    total = sum(part.responses for part in found)
    predicted, observed = (
        sum(getattr(part, name) * part.responses for part in found) / total for name in ("predicted", "observed")
    )
    return Bin(low=found[0].low, high=found[0].high, responses=total, predicted=predicted, observed=observed)


def _scored(entry: Mapping[str, Any]) -> Scored:
    bins = tuple(Bin(**{key: float(row[key]) for key in Bin.__dataclass_fields__}) for row in entry["calibration"])
    scores = {key: float(entry[key]) for key in ("responses", "brier", "brier_domain")}
    return Scored(**scores, bins=bins)
