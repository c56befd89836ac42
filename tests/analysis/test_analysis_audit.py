"""The pairing audit: prompt streams, budgets, starting points."""

import json

import pytest
from analysis_synth import Sweep, chained, dump, stream, write_sweep

from analysis.audit import same_prefix
from analysis.blocks import blocks
from analysis.compare import compare_all
from analysis.load import load
from analysis.options import Options
from analysis.study import make_study
from analysis.tables.shared import block_notes

ALL13 = ("uniform", "difffilter", "maxvar", "static", "reward_gap", "tscl")


def compared(source, **options):
    return compare_all(blocks(load([str(source)])), Options(**options))


def rows_of(comparison, summary="domain_balanced"):
    return {r["method"]: r for r in comparison.rows if r["summary"] == summary}


def edit_manifest(root, method, seed, **changes):
    path = next(root.glob(f"*/*/{method}/seed_{seed}/manifest.json"))
    dump(path, json.loads(path.read_text()) | changes)


@pytest.fixture
def sweep13(tmp_path, rng):
    return write_sweep(tmp_path / "runs", Sweep(methods=ALL13, seeds=(0, 1, 2), metrics=False), rng)


@pytest.mark.parametrize(("mismatch", "n"), [("refuse", 2), ("flag", 3)])
def test_other_prompts_are_no_pair(sweep13, mismatch, n):
    edit_manifest(sweep13, "maxvar", 1, prompt_stream_digest=stream(99, 60))
    comparison = compared(sweep13, mismatch=mismatch)[0]
    assert rows_of(comparison)["maxvar"]["n"] == n
    assert rows_of(comparison)["difffilter"]["n"] == 3
    assert comparison.audits[("select_reweight", "maxvar")].streams == "differ"
    assert any("maxvar, seed 1: prompt streams differ" in note for note in comparison.notes)


def test_mixers_share_the_common_prefix_per_domain(sweep13):
    # The fixture's mixers consume streams of different lengths with one prefix: they agree.
    assert compared(sweep13)[0].audits[("mixers", "tscl")].streams == "agree"
    other = stream(1, 56)
    other["domains"]["logic"] = chained("other", 56)
    edit_manifest(sweep13, "tscl", 1, prompt_stream_digest=other)
    comparison = compared(sweep13)[0]
    assert rows_of(comparison)["tscl"]["n"] == 2
    assert any("prompt streams of logic differ within their common prefix" in n for n in comparison.notes)


def test_prefixes():
    assert same_prefix(chained("x", 30), chained("x", 30))
    assert same_prefix(chained("x", 30), chained("x", 50, every=8))  # common marks: 8, 16, 24
    assert not same_prefix(chained("x", 30), chained("y", 50))
    assert same_prefix(chained("x", 3), chained("y", 2))  # nothing in common to compare


def test_unequal_budgets_and_datasets_are_refused(sweep13):
    path = next(sweep13.glob("*/*/maxvar/seed_0/cost.json"))
    dump(path, json.loads(path.read_text()) | {"prompts": 1})
    edit_manifest(sweep13, "maxvar", 1, dataset_fingerprint="other")
    comparison = compared(sweep13)[0]
    assert rows_of(comparison)["maxvar"]["n"] == 1
    assert any("prompts differ (1 against 3840)" in n for n in comparison.notes)
    assert any("dataset_fingerprint differ (other against d0)" in n for n in comparison.notes)


def test_different_starts_are_named(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk"), seeds=(0, 1), metrics=False), rng)
    assert not [n for n in block_notes(make_study([str(root)], Options()), compared(root)) if "untrained" in n]
    path = next(root.glob("*/*/topk/seed_1/eval.json"))
    value = json.loads(path.read_text())
    value["benchmarks"]["math"]["untrained"] = {"correct": 43, "total": 100, "accuracy": 0.43}
    dump(path, value)
    notes = [n for n in block_notes(make_study([str(root)], Options()), compared(root)) if "untrained" in n]
    assert "math by up to 3.00 points" in notes[0]
