"""The commands of designs: what is promised, and looks with JSON in and out."""

import json
from pathlib import Path

import numpy as np
import pytest

from analysis.designs import main
from analysis.stats.boundaries import boundaries
from analysis.stats.decisions import Cell
from analysis.stats.design import design
from analysis.stats.look import take_look
from analysis.stats.protocol import Protocol, look_as_json


def test_a_plan_beside_the_fixed_design(capsys):
    assert main(["plan", "--arms", "12", "--sigma", "0.97", "--studies", "300", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["plan"]["rows"]
    found = {(r["design"], r["effect"]): r for r in rows}
    assert len(found) == 10
    for row in rows:
        assert row["superior"] + row["no_gain"] + row["inferior"] + row["undecided"] == pytest.approx(1.0)
    sequential, fixed = found[("sequential", 1.0)], found[("fixed", 1.0)]
    assert (sequential["most_runs"], fixed["most_runs"], fixed["runs"]) == (124, 156, 156)
    assert sequential["runs"] < 124
    assert sequential["superior"] > fixed["superior"]
    assert main(["plan", "--arms", "3", "--sigma", "1", "--design", "fixed", "--studies", "50"]) == 0
    text = capsys.readouterr().out
    assert "fixed: runs per arm/controls at each look: 12/12" in text


@pytest.fixture
def study(tmp_path, rng):
    plan = design("sequential", 2)
    protocol = Protocol(design=plan, bounds=boundaries(plan, rng, paths=20_000), arms=("a", "b"), control="c",
                        score="domain_balanced", seeds=tuple(range(11)))  # fmt: skip
    effect = {"a": 5.0, "b": 0.6, "c": 0.0}
    cells = {m: {str(s): {"state": "done", "score": e + float(rng.normal(0, 0.5))} for s in range(11)}
             for m, e in effect.items()}  # fmt: skip
    for name, value in (("protocol", protocol.as_json()), ("cells", cells)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    return tmp_path, protocol, cells


def arguments(folder: Path, number: int, *more: str) -> list[str]:
    return ["look", "--protocol", str(folder / "protocol.json"), "--cells", str(folder / "cells.json"),
            "--look", str(number), *more]  # fmt: skip


def test_looks_through_files_decide_as_the_function_does(study, capsys):
    folder, protocol, cells = study
    flat = {(m, int(s)): Cell(**c) for m, seeds in cells.items() for s, c in seeds.items()}
    before, more = None, []
    for number in (1, 2):
        assert main(arguments(folder, number, *more)) == 0
        text = capsys.readouterr().out
        found = json.loads(text)
        before = take_look(protocol.design, protocol.bounds, number, arms=protocol.arms, control="c",
                           seeds=protocol.seeds, cells=flat, before=before)  # fmt: skip
        assert found.pop("sentences")[0].startswith("a is superior to c: +")
        going = {d.arm for d in before.decisions if d.open}
        assert {method for method, _ in found.pop("needs")} == (going | {"c"} if going and number < 3 else set())
        assert found == json.loads(json.dumps(look_as_json(before)))
        (folder / "before.json").write_text(text)
        more = ["--before", str(folder / "before.json")]
        if not any(d.open for d in before.decisions):
            break


def test_what_does_not_fit_is_one_line(study, capsys):
    folder, _, cells = study
    cells["b"]["2"] = {"state": "running"}
    (folder / "cells.json").write_text(json.dumps(cells))
    assert main(arguments(folder, 1)) == 2
    assert capsys.readouterr().err == "error: look 1 waits for b seed 2 (running)\n"
    (folder / "cells.json").write_text(json.dumps({"a": [1]}))
    assert main(arguments(folder, 1)) == 2
    assert "expected {method: {seed: {state, score}}}" in capsys.readouterr().err
    for wrong, part in ((["plan", "--arms", "3", "--sigma", "0"], "sigma=0.0"),
                        (["plan", "--arms", "0", "--sigma", "1"], "arms=0"), (["plan", "--sigma", "1"], "--arms"),
                        (["other"], "invalid choice"), ([], "required")):  # fmt: skip
        assert main(wrong) == 2
        assert part in capsys.readouterr().err


def test_the_same_seed_promises_the_same(capsys):
    told = []
    for _ in range(2):
        assert main(["plan", "--arms", "2", "--sigma", "1", "--design", "screen", "--studies", "100", "--json"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert np.isfinite([r["runs"] for r in json.loads(told[0])["tables"]["plan"]["rows"]]).all()
