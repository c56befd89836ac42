"""156 runs x 300 steps x 12 benchmarks: everything within 20 s and 1 GiB, tables from evaluations within 5 s."""

import resource
import subprocess
import sys

import numpy as np
import pytest
from analysis_synth import METHODS, MIXERS, PAPER, Sweep, write_sweep


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    sweep = Sweep(methods=(*METHODS, *MIXERS), seeds=range(12), benchmarks=PAPER, steps=300, model="Qwen2.5-7B-Base")
    return write_sweep(tmp_path_factory.mktemp("big"), sweep, np.random.default_rng(0))


def cpu_seconds(*arguments):
    """Run a command; give its own processor seconds (a busy machine does not count) and its peak memory [MiB]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, after.ru_maxrss / 1024


def test_load_all_tables_and_report(big, tmp_path):
    seconds, mebibytes = cpu_seconds("-m", "analysis.report", "--runs", str(big), "--out", str(tmp_path / "r.html"))
    assert seconds <= 20
    assert mebibytes <= 1024
    assert (tmp_path / "r.html").stat().st_size < 5_000_000


def test_all_tables_from_the_evaluations_alone(big, tmp_path):
    for path in big.rglob("metrics.jsonl"):
        path.unlink()
    seconds, _ = cpu_seconds(
        "-m", "analysis.tables", "--runs", str(big), "--table", "all", "--json", "--out", str(tmp_path)
    )
    assert seconds <= 5
