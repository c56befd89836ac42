"""The pair audit of runs with a prompt selector: the same data, prompts of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

from dataflex_rl.record import RunRecord, write_json
from dataflex_rl.record.pairs import METHOD_KEYS
from dataflex_rl.sweep.audit import audit
from tests.sweep.records import PROMPTS, finished
from tests.sweep.test_audit import MIXED, edit

OLD_KEYS = [key for key in METHOD_KEYS if key != "dataflex.prompts"]
CHOSEN = [("p9", "math"), ("p0", "math"), ("p0", "math")]  # other prompts, in another number


def test_a_prompt_selector_is_held_to_the_data_and_not_to_the_prompts(tmp_path: Path) -> None:
    runs = [finished(tmp_path, m, prompts=p) for m, p in (("uniform", PROMPTS), ("greso_skip", CHOSEN))]
    assert audit([*runs, finished(tmp_path, "static", prompts=MIXED)]).clean
    for changes, said in (
        ({"dataset_fingerprint": "x"}, 'dataset_fingerprint: "d" (uniform), "x" (greso_skip)'),
        ({"config": {"data": {"lr": 2, "seed": 0}}}, "data.lr: 1 (uniform), 2 (greso_skip)"),
        ({"prompt_stream_digest": None}, "prompt stream: not recorded (greso_skip)"),
        ({"prompt_selector": "none"}, "prompt_selector 'none', the plan 'greso_skip'"),
    ):
        shutil.rmtree(runs[1]["run_dir"])
        runs[1] = finished(tmp_path, "greso_skip", **{"prompts": CHOSEN, **changes})
        assert [said in difference for difference in audit(runs).differences] == [True]
    assert audit([runs[1]]).incomplete == ("m-t, seed 0: no run of the control uniform is planned beside greso_skip",)


def test_records_from_before_there_were_prompt_selectors_are_as_records_without_one(tmp_path: Path) -> None:
    old = {"config": {"dataflex": {"actuator": {"name": "ar"}}}, "method_keys": OLD_KEYS}
    runs = [finished(tmp_path, "uniform", seed) for seed in (0, 1)]
    runs += [finished(tmp_path, "ar", 0, **old), finished(tmp_path, "ar", 1)]
    found = audit(runs)
    assert (found.clean, found.differences) == (True, ())
    edit(Path(runs[2]["run_dir"]), "config.yaml", "lr: 1", "lr: 2")
    assert "config.yaml is not what manifest.json was written with" in audit(runs).differences[0]


def test_runs_that_end_at_a_number_of_tokens_share_their_prompts_as_far_as_both_went(tmp_path: Path) -> None:
    stop = {"config": {"stop_at": {"tokens": 100}}, "stop_at_tokens": 100}
    runs = [finished(tmp_path, m, prompts=p, **stop) for m, p in (("uniform", PROMPTS), ("ar", PROMPTS[:6]))]
    write_json(RunRecord(Path(runs[1]["run_dir"])).cost, {"prompts": 6, "tokens": {}})
    assert audit(runs).clean
    shutil.rmtree(runs[1]["run_dir"])
    runs[1] = finished(tmp_path, "ar")
    assert "stop_at.tokens" in audit(runs).differences[0]
    off = finished(tmp_path / "b", "ar", config={"stop_at": {"tokens": None}, "data": {"lr": 1, "seed": 0}})
    assert audit([finished(tmp_path / "b", "uniform"), off]).clean  # as in records from before it
