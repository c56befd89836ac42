"""Where the study's published files lie, and small sources that many tests read."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from analysis_synth import Sweep, csv_rows, write_csv, write_sweep

PUBLISHED = Path(os.environ.get("DATAFLEX_PUBLISHED", Path(__file__).parents[2].parent / "shared" / "data"))

# The published files are no part of the project: the tests that read them exist where the files do.
collect_ignore = [] if (PUBLISHED / "published_runs_171.csv").exists() else ["test_analysis_published.py"]


@pytest.fixture(scope="session")
def published() -> Path:
    return PUBLISHED


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20250101)


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five methods and two mixers with their controls, four seeds, tiny benchmarks, metrics and items."""
    methods = ("uniform", "difffilter", "topk", "ar", "static", "tscl")
    sweep = Sweep(methods=methods, seeds=range(4), items=True, effect={"difffilter": 8.0}, run_sd=0.5)
    return write_sweep(tmp_path_factory.mktemp("records"), sweep, np.random.default_rng(1))


@pytest.fixture(scope="session")
def study_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One block in the published runs layout: nine methods, three seeds; one run's MMLU-Pro pair collapsed."""
    rows = csv_rows(Sweep(methods=("baseline", *METHODS_WITHOUT_UNIFORM), model="Qwen2.5-7B-Instruct", steps=300),
                    np.random.default_rng(2))  # fmt: skip
    for row in rows:
        if (row["method"], row["seed"]) == ("ar", 2):
            row["mmlu_pro_chemistry"] = row["mmlu_pro_physics"] = 30.0
    return write_csv(tmp_path_factory.mktemp("csv") / "runs.csv", rows)


METHODS_WITHOUT_UNIFORM = ("difffilter", "maxvar", "gfpo", "topk", "ar", "per", "softmax", "diffband")
