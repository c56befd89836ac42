"""The pairing audit: prompt streams, budgets, starting points."""

import json

import pytest
from analysis_synth import Sweep, chained, dump, stream, write_sweep

from analysis.blocks import blocks
from analysis.compare import compare_all
from analysis.load import load
from analysis.options import Options
from analysis.study import make_study
from analysis.tables import build
from analysis.tables.cli import main
from analysis.tables.shared import block_notes
from dataflex_rl.record import RunRecord, write_config
from dataflex_rl.record.pairs import comparability
from dataflex_rl.record.streams import compare_streams
from dataflex_rl.sweep.streams import Consumed, stream_differences

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
    said = "maxvar, seed 1: prompt streams: the two (180 and 180 prompts) agree on 0 of 180 in common"
    assert any(said in note for note in comparison.notes)


def test_mixers_share_the_common_prefix_per_domain(sweep13):
    # The fixture's mixers consume streams of different lengths with one prefix: they agree.
    assert compared(sweep13)[0].audits[("mixers", "tscl")].streams == "agree"
    other = stream(1, 56)
    other["domains"]["logic"] = chained("other", 56)
    edit_manifest(sweep13, "tscl", 1, prompt_stream_digest=other)
    comparison = compared(sweep13)[0]
    assert rows_of(comparison)["tscl"]["n"] == 2
    said = "prompt streams of logic: the two (56 and 54 prompts) agree on 0 of 52 in common: pair refused"
    assert any(said in n for n in comparison.notes)


def test_what_cannot_be_compared_is_no_agreement(sweep13):
    """Three prompts against 56, marked at every fourth: as the audit of the sweep has it, by the same function."""
    short = stream(0, 53)
    short["domains"]["logic"] = chained("0 logic", 3)
    short["all"]["count"] = 3 * 53 - 50
    short["all"]["marks"] = short["all"]["marks"][: short["all"]["count"] // 4]
    edit_manifest(sweep13, "tscl", 0, prompt_stream_digest=short)
    said = "prompt streams of logic: the two (3 and 54 prompts) have no mark in common and cannot be compared"
    for mismatch, seeds in (("refuse", (1, 2)), ("flag", (0, 1, 2))):
        audit = compared(sweep13, mismatch=mismatch)[0].audits[("mixers", "tscl")]
        assert (audit.streams, audit.seeds) == ("cannot be compared", seeds)
        assert any(f"tscl, seed 0: {said}" in problem for problem in audit.problems)
    theirs = json.loads(next(sweep13.glob("*/*/static/seed_0/manifest.json")).read_text())["prompt_stream_digest"]
    both = [Consumed(method=m, mixes=True, digest=d) for m, d in (("tscl", short), ("static", theirs))]
    answer, reasons = compare_streams(short, theirs, mixing=True)
    assert (answer, reasons) == ("cannot be compared", [said])
    assert [text.partition("(")[2] for text in stream_differences(both)] == [said.partition("(")[2]]


CONFIG = {
    "actor": {"optim": {"lr": 1e-6}, "kl_coef": 0.0},
    "rollout": {"n": 8},
    "dataflex": {"actuator": {"name": "x"}},
}


def configure(root, config=CONFIG, *, entry=True, methods=ALL13, seeds=(0, 1, 2)):
    for method in methods:
        for seed in seeds:
            folder = next(root.glob(f"*/*/{method}/seed_{seed}"))
            mine = config | {"seed": seed, "dataflex": {"actuator": {"name": method}}}
            write_config(RunRecord(folder), mine)
            if entry:
                edit_manifest(root, method, seed, comparability=comparability(mine))


@pytest.mark.parametrize("entry", [True, False])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"actor": {"optim": {"lr": 3e-6}, "kl_coef": 0.0}}, "actor.optim.lr 3e-06 against 1e-06"),
        ({"actor": {"optim": {"lr": 1e-6}, "kl_coef": 0.01}}, "actor.kl_coef 0.01 against 0.0"),
        ({"rollout": {"n": 16}}, "rollout.n 16 against 8"),
        ({"rollout": {"n": 16}, "critic": None}, 'critic null against (absent); rollout.n 16 against 8'),
    ],
)  # fmt: skip
def test_runs_that_differ_in_more_than_the_method_are_no_pair(sweep13, change, said, entry):
    configure(sweep13, entry=entry)
    configure(sweep13, CONFIG | change, entry=entry, methods=("maxvar",), seeds=(0, 2))
    for mismatch in ("refuse", "flag"):
        comparison = compared(sweep13, mismatch=mismatch)[0]
        assert rows_of(comparison)["maxvar"]["n"] == 1
        assert rows_of(comparison)["maxvar"]["dropped_seeds"] == [0, 2]
        assert rows_of(comparison)["difffilter"]["n"] == 3
        audit = comparison.audits[("select_reweight", "maxvar")]
        assert (audit.conditions, audit.allowed) == ("differ", ())
        assert f"maxvar, seeds 0, 2: differs besides the method: {said}: pair refused" in audit.problems
    assert comparison.audits[("select_reweight", "difffilter")].conditions == "agree"


def test_differences_that_the_user_names_are_kept_and_said(sweep13):
    configure(sweep13)
    configure(
        sweep13, CONFIG | {"actor": {"optim": {"lr": 3e-6}}, "rollout": {"n": 9}}, methods=("maxvar",), seeds=(1,)
    )
    study = make_study([str(sweep13)], Options(allow_differences=("actor", "rollout.n")))
    audit = study.comparisons[0].audits[("select_reweight", "maxvar")]
    assert audit.seeds == (0, 1, 2)
    assert audit.allowed == ("actor.kl_coef", "actor.optim.lr", "rollout.n")
    said = (
        "maxvar, seed 1: differs besides the method: actor.kl_coef (absent) against 0.0; actor.optim.lr 3e-06 against "
        "1e-06; rollout.n 9 against 8: kept, allowed"
    )
    for name in ("main", "pairing"):
        assert any(said in note for note in build(study, name)[0].notes)
    half = compared(sweep13, allow_differences=("actor.optim",))[0].audits[("select_reweight", "maxvar")]
    assert half.seeds == (0, 2)
    assert half.allowed == ("actor.optim.lr",)
    assert any("actor.kl_coef (absent) against 0.0; rollout.n 9 against 8: pair refused" in p for p in half.problems)


def test_the_option_of_the_command_line(sweep13, capsys):
    configure(sweep13)
    configure(sweep13, CONFIG | {"rollout": {"n": 9}}, methods=("maxvar",))
    for options, n in (([], 0), (["--allow-differences", "actor", "rollout"], 3)):
        assert main(["--runs", str(sweep13), *options, "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["tables"]["pairing"]["rows"]
        assert [row["n"] for row in rows if row["method"] == "maxvar"] == [n]


def test_old_records_say_that_their_conditions_are_not_known(sweep13):
    audit = compared(sweep13)[0].audits[("select_reweight", "maxvar")]
    assert (audit.conditions, audit.seeds) == ("not recorded", (0, 1, 2))
    assert any("neither comparability in manifest.json nor config.yaml" in problem for problem in audit.problems)
    configure(sweep13)
    assert not any("taken on trust" in n for n in compared(sweep13)[0].notes)


def test_a_configuration_that_cannot_be_read_makes_no_pair(sweep13):
    configure(sweep13, entry=False)
    next(sweep13.glob("*/*/maxvar/seed_1/config.yaml")).write_text("[1]")
    audit = compared(sweep13)[0].audits[("select_reweight", "maxvar")]
    assert (audit.seeds, audit.conditions) == ((0, 2), "cannot be compared")
    assert any("config.yaml holds a list, expected keys" in problem for problem in audit.problems)


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


def test_a_prompt_selector_is_paired_with_uniform_whatever_prompts_it_drew(tmp_path, rng):
    methods = ("uniform", "difffilter", "static", "tscl", "order", "learnability", "difffilter+order", "tscl+order")
    root = write_sweep(tmp_path / "runs", Sweep(methods=methods, seeds=(0, 1), metrics=False), rng)
    for method in methods[4:]:
        own = {"actuator": "difffilter" if "difffilter" in method else "none", "prompt_selector": "order"}
        for seed in (0, 1):
            edit_manifest(
                root, method, seed, mixer="tscl" if "tscl" in method else "none",
                prompt_stream_digest=stream(50 + seed, 60), **own,
            )  # fmt: skip
    edit_manifest(root, "order", 1, dataset_fingerprint="other")
    comparison = compared(root)[0]
    matches = {m.family: (m.control, m.methods) for m in comparison.matches}
    assert matches["prompts"] == ("uniform", ("learnability", "order"))
    assert matches["mixers"] == ("static", ("tscl", "tscl+order"))
    assert matches["select_reweight"] == ("uniform", ("difffilter", "difffilter+order"))
    audits = comparison.audits
    assert audits[("prompts", "learnability")].streams == "chosen by the run"
    assert audits[("prompts", "learnability")].seeds == (0, 1)
    assert audits[("mixers", "tscl+order")].streams == "chosen by the run"
    assert audits[("prompts", "order")].seeds == (0,)  # the data must be the same
