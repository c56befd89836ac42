"""Tables and their command line: contracts, formats, notes, bad input."""

import csv
import io
import json
import shutil

import pytest
from analysis_synth import Sweep, write_sweep

from analysis.options import Options
from analysis.study import make_study
from analysis.tables import TABLES, build
from analysis.tables.axes import size_of
from analysis.tables.cli import main
from analysis.tables.format import as_csv, markdown
from analysis.tables.table import columns, show

CONTRACT = [
    "model",
    "campaign",
    "regime",
    "steps",
    "method",
    "control",
    "summary",
    "n",
    "score",
    "control_score",
    "delta",
    "sd",
    "ci_low",
    "ci_high",
    "p_t",
    "p_perm",
    "p_wilcoxon",
    "p_holm",
    "p_bh",
    "tost_p",
    "equivalent",
    "mde80",
    "pairing_r",
    "verdict",
]
NAMES = [
    "main",
    "mixers",
    "models",
    "gain",
    "constrained",
    "scale",
    "long",
    "sensitivity",
    "cost",
    "tokens",
    "pairing",
    "suspects",
    "per_benchmark",
    "planning",
]


@pytest.fixture(scope="module")
def study(records):
    return make_study([str(records)], Options())


@pytest.fixture(scope="module")
def tables(study):
    return {t.name: t for t in build(study, "all")}


def test_every_table_exists(tables):
    assert set(NAMES) <= set(TABLES)
    assert list(tables) == list(TABLES)


def test_json_is_flat_complete_and_strict(records, capsys):
    assert main(["--runs", str(records), "--table", "all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))
    assert set(found) == {"tables"}
    for table in found["tables"].values():
        assert set(table) >= {"rows", "notes"}
        assert table["notes"]
    row = found["tables"]["main"]["rows"][0]
    assert set(CONTRACT) <= set(row)
    assert not [v for v in row.values() if isinstance(v, dict)]
    assert {r["verdict"] for r in found["tables"]["main"]["rows"]} <= {
        "superior", "inferior", "equivalent", "inconclusive", "not testable"}  # fmt: skip


def test_a_null_comes_with_a_reason(tables):
    for row in (r for t in ("main", "mixers", "per_benchmark") for r in tables[t].as_json()["rows"]):
        if any(row[k] is None for k in CONTRACT if k not in ("regime", "steps")):
            assert row["reason"]


def test_captions_state_defaults_and_what_was_dropped(tables):
    text = " ".join(tables["main"].notes)
    for part in (
        "points (0..100)",
        "n = 4 paired seeds",
        "Student t, 95%",
        "90% for equivalence within 1 points",
        "One family per question: Holm over the methods of a block on domain_balanced",
        "all deltas against uniform hold the noise of the same 4 runs",
        "Dropped: no seed.",
    ):
        assert part in text
    assert "permutation and Wilcoxon cannot reach 0.05 at n = 4 (minimum 0.125)" in text


def test_at_three_seeds_sign_tests_say_what_they_cannot_do(study_csv):
    table = build(make_study([str(study_csv)], Options()), "main")[0]
    assert "permutation and Wilcoxon cannot reach 0.05 at n = 3 (minimum 0.25)" in table.notes
    assert min(r["p_perm"] for r in table.rows) >= 0.25


def test_printed_numbers_are_the_rounded_rows(tables):
    rows = list(csv.DictReader(io.StringIO(as_csv(tables["main"]))))
    by_key = {(r["method"], r["summary"]): r for r in rows}
    shown = markdown(tables["main"])
    for (method, summary), row in by_key.items():
        if summary == "domain_balanced":
            line = next(x for x in shown.splitlines() if x.startswith(f"| {method} |"))
            for key, style in (("score", ".2f"), ("delta", "+.2f"), ("mde80_pooled", ".2f")):
                assert format(float(row[key]), style) in line
    assert float(by_key[("topk", "domain_balanced")]["delta"]) == next(
        r["delta"] for r in tables["main"].rows if (r["method"], r["summary"]) == ("topk", "domain_balanced")
    )


@pytest.mark.parametrize(
    ("style", "value", "expected"),
    [
        ("score", 0.0, "0.00"),
        ("score", float("nan"), "n/a"),
        ("delta", -0.004, "-0.00"),
        ("p", 0.00001, "<0.001"),
        ("p", 1.0, "1.000"),
        ("big", 1234567.0, "1,234,567"),
        ("text", None, "n/a"),
    ],
)
def test_cells(style, value, expected):
    assert show({"x": value}, columns(f"x||{style}")[0]) == expected


def test_gain_and_sensitivity_name_the_seeds_they_leave_out(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk", "ar"), metrics=False), rng)
    folder = root / "sweep" / "tiny-toy3"
    path = folder / "uniform" / "seed_1" / "eval.json"
    entry = json.loads(path.read_text())
    del entry["benchmarks"]["logic"]["untrained"]
    path.write_text(json.dumps(entry))
    shutil.rmtree(folder / "ar" / "seed_2")
    gain, sensitivity = build(make_study([str(root)], Options()), "gain,sensitivity")
    row = next(r for r in gain.rows if r["summary"] == "domain_balanced")
    assert (row["n"], row["dropped_seeds"]) == (2, [1])
    assert "tiny / toy3 / 60 steps: uniform: seeds without a trained or an untrained score left out: 1" in gain.notes
    row = next(r for r in sensitivity.rows if r["summary"] == "macro3" and r["kind"] == "correlation")
    assert (row["n"], row["dropped_seeds"]) == (2, [2])
    said = "tiny / toy3 / 60 steps: select_reweight: seeds that not every method has, left out of the correlation: 2"
    assert said in sensitivity.notes


def test_gain_pairs_trained_with_untrained_of_the_same_run(tables):
    row = next(r for r in tables["gain"].rows if (r["method"], r["summary"]) == ("uniform", "domain_balanced"))
    assert row["control"] == "untrained"
    assert row["control_score"] == 40.0
    assert row["delta"] == pytest.approx(row["score"] - 40.0)


def test_cost_without_evaluations_during_training_compares_nothing(tables):
    cost = {r["method"]: r for r in tables["cost"].rows if r["kind"] == "cost"}
    assert (cost["topk"]["tokens_generated"], cost["topk"]["tokens_trained"]) == (60_000, 30_000)
    # Training rewards are there, and are no score: no row compares them.
    assert {r["kind"] for r in tables["cost"].rows} == {"cost"}
    assert any("Runs without such evaluations are not compared" in n for n in tables["cost"].notes)


def test_equal_generated_tokens_by_hand(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk"), steps=2, metrics=False), rng)
    for path in root.rglob("eval.json"):
        method, seed = path.parent.parent.name, int(path.parent.name[-1])
        entry = json.loads(path.read_text())
        # topk generates twice as much: it ends at 2000 tokens, the control at 1000.
        per_step, correct = (1000, (40, 60)) if method == "topk" else (500, (42 + seed, 50 + 3 * seed))
        entry["during"] = [
            {"step": step, "tokens": {"generated": per_step * step},
             "benchmarks": {b: {"correct": right, "total": 100} for b in entry["benchmarks"]}}
            for step, right in zip((1, 2), correct, strict=True)
        ]  # fmt: skip
        path.write_text(json.dumps(entry))
    table = build(make_study([str(root)], Options()), "cost")[0]
    row = next(r for r in table.rows if r["kind"] == "equal")
    # At 1000 tokens: topk after step 1, 40; the control after step 2: 50, 53, 56.
    assert (row["tokens"], row["score"], row["control_score"]) == (1000, pytest.approx(40), pytest.approx(53))
    assert (row["n"], row["unit"], row["family_size"]) == (3, "points", 1)
    assert (row["delta"], row["sd"], row["p_holm"]) == (pytest.approx(-13), pytest.approx(3), row["p_t"])
    assert "domain_balanced at equal generated tokens" in row["question"]
    assert not any("compute-matched" in v.title for v in table.views)


def test_items_table_keeps_both_uncertainties(tables):
    row = next(r for r in tables["items"].rows if (r["method"], r["summary"]) == ("difffilter", "math"))
    main = next(r for r in tables["main"].rows if (r["method"], r["summary"]) == ("difffilter", "math"))
    assert row["delta"] == pytest.approx(main["delta"])
    assert row["se_seeds"] == pytest.approx(main["sd"] / 2)  # sd / sqrt(4)
    assert (row["n"], row["items"], len(row["p_mcnemar"])) == (4, 100, 4)


def test_axes(tmp_path, rng):
    sweeps = [Sweep(model=m, methods=("uniform", "topk"), metrics=False) for m in ("Q-0.5B", "Q-7B", "L-8B")]
    sweeps += [Sweep(model="Q-7B", steps=100, regime="full", methods=("uniform", "topk"), metrics=False)]
    sweeps += [Sweep(model="Q-7B", regime="sub25", methods=("uniform", "topk"), metrics=False)]
    for i, sweep in enumerate(sweeps):
        write_sweep(tmp_path / str(i), sweep, rng)
    found = {t.name: t for t in build(make_study([str(tmp_path)], Options()), "models,scale,long,constrained")}
    primary = {n: list(t.views[0].rows) for n, t in found.items()}
    assert {r["model"] for r in primary["models"]} == {"Q-0.5B", "Q-7B", "L-8B"}
    assert [r["model"] for r in primary["scale"]] == ["Q-0.5B", "Q-7B"]
    assert [r["steps"] for r in primary["long"]] == [60, 100]
    constrained = primary["constrained"][0]
    assert (constrained["regime"], constrained["delta_reference"]) == (
        "sub25",
        next(r["delta"] for r in primary["models"] if r["model"] == "Q-7B"),
    )


@pytest.mark.parametrize(
    ("model", "family", "size"),
    [
        ("Qwen2.5-7B-Instruct", "qwen2.5-instruct", 7.0),
        ("Qwen2.5-0.5B-Instruct", "qwen2.5-instruct", 0.5),
        ("qwen2_5_0_5b", "qwen2-5", 0.5),
        ("qwen2_5_7b", "qwen2-5", 7.0),
        ("qwen2_5_1_5b_instruct", "qwen2-5-instruct", 1.5),
        ("llama3_1_8b", "llama3-1", 8.0),
        ("smollm2_135m", "smollm2", 0.135),
    ],
)
def test_sizes_in_names(model, family, size):
    assert size_of(model) == (family, size)
    assert size_of("tiny") is None


def test_empty_tables_say_why(tables):
    for name in ("models", "constrained", "scale", "long"):
        assert not tables[name].rows
        assert tables[name].notes
