"""The pair audit names what differs; the ledger adds up what was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataflex_rl.record import RunRecord, update_status, write_json
from dataflex_rl.sweep.audit import audit
from dataflex_rl.sweep.ledger import ledger
from tests.sweep.records import PROMPTS, digest, finished

# mixers draw their own domains: three of math and five of logic, each a prefix of a longer stream
MIXED = [(f"p{n}", "math") for n in (0, 2, 4)] + [(f"p{n}", "logic") for n in (1, 3, 5, 7, 9)]


def test_methods_that_differ_in_nothing_else_are_clean(tmp_path: Path) -> None:
    runs = [finished(tmp_path, method, seed) for seed in (0, 1) for method in ("uniform", "ar", "per")]
    runs.append(finished(tmp_path, "static", 0, prompts=MIXED))
    found = audit(runs)
    assert found.clean
    assert (found.pairs, found.differences, found.incomplete) == (5, (), ())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"steps": 2}, "m-t, seed 0: steps: 1 (uniform), 2 (ar)"),
        ({"dataset_fingerprint": "x"}, 'dataset_fingerprint: "d" (uniform), "x" (ar)'),
        ({"evaluation_digest": "x"}, 'evaluation_digest: "e" (uniform), "x" (ar)'),
        ({"config": {"data": {"lr": 2}}}, "data.lr: 1 (uniform) against 2 (ar)"),
        ({"prompts": [*PROMPTS[:5], ("other", "math")]}, "prompt stream: uniform and ar agree on 5 of 6 prompts"),
        ({"prompts": PROMPTS[:6]}, "prompt stream: uniform and ar agree on 6 of 6 prompts"),
        ({"prompt_stream_digest": None}, "prompt stream: not recorded (ar)"),
    ],
)
def test_each_difference_is_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    found = audit([finished(tmp_path, "uniform"), finished(tmp_path, "ar", **changes)])
    assert not found.clean
    assert any(said in difference for difference in found.differences), found.differences


def test_a_mixer_is_held_to_the_common_prefix_of_each_domain(tmp_path: Path) -> None:
    wrong = [("p0", "math"), ("p4", "math"), *((f"p{n}", "logic") for n in (1, 3))]
    found = audit([finished(tmp_path, "uniform"), finished(tmp_path, "static", prompts=wrong)])
    # math has 4 prompts in uniform and 2 in static, of which the second differs; logic agrees
    said = "m-t, seed 0: prompt stream of math: uniform and static agree on 1 of 2 prompts in common"
    assert found.differences == (said,)


def test_what_is_not_there_is_missing_not_different(tmp_path: Path) -> None:
    runs = [finished(tmp_path, "uniform"), finished(tmp_path, "ar")]
    update_status(RunRecord(Path(runs[1]["run_dir"])), state="running")
    found = audit(runs)
    assert (found.pairs, found.differences) == (0, ())
    assert found.incomplete == ("m-t, seed 0: no finished run of ar",)
    assert not found.clean  # nothing was compared


def test_a_broken_record_and_other_versions(tmp_path: Path) -> None:
    runs = [finished(tmp_path, method) for method in ("uniform", "ar", "per")]
    manifest = Path(runs[2]["run_dir"]) / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"git_revision": "abc"}))
    (Path(runs[1]["run_dir"]) / "manifest.json").write_text("{")
    found = audit(runs)
    assert len(found.differences) == 1
    assert "ar: run record" in found.differences[0]
    assert found.notes == ('m-t, seed 0: git_revision: null (uniform), "abc" (per)',)


def test_digests_of_the_fixture_are_those_of_the_contract() -> None:
    assert digest(PROMPTS)["all"]["count"] == 8
    assert {name: stream["count"] for name, stream in digest(MIXED)["domains"].items()} == {"logic": 5, "math": 3}


def test_the_ledger_adds_up_finished_runs_and_says_what_is_missing(tmp_path: Path) -> None:
    runs = [finished(tmp_path, "uniform", 0), finished(tmp_path, "uniform", 1), finished(tmp_path, "ar", 0)]
    runs.append(finished(tmp_path, "per", 0))
    update_status(RunRecord(Path(runs[3]["run_dir"])), state="failed")
    write_json(RunRecord(Path(runs[2]["run_dir"])).cost, {"prompts": 8, "tokens": {"generated": None}})
    found = ledger(runs)
    # two runs of 40 generated = 30 trained + 10 dropped tokens, 2 s and 7200 GPU-seconds each
    assert found["uniform"] == {
        "runs": 2, "prompts": 16, "generated": 80, "trained": 60, "dropped": 20, "seconds": 4.0, "gpu_hours": 4.0,
    }  # fmt: skip
    assert (found["ar"]["prompts"], found["ar"]["generated"], found["ar"]["gpu_hours"]) == (8, None, None)
    assert (found["per"]["runs"], found["per"]["generated"]) == (0, 0)
