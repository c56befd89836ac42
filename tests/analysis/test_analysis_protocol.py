"""What a study fixes before its first run survives a round trip; a change is named."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.errors import AnalysisError
from analysis.stats.boundaries import boundaries
from analysis.stats.decisions import Cell, sentence
from analysis.stats.design import design
from analysis.stats.look import take_look
from analysis.stats.protocol import Protocol, changes, look_as_json, look_from_json, read


@pytest.fixture(scope="module")
def protocol():
    plan = design("sequential", 2)
    return Protocol(design=plan, bounds=boundaries(plan, np.random.default_rng(0), paths=20_000), arms=("a", "b"),
                    control="c", score="domain_balanced", seeds=tuple(range(11)))  # fmt: skip


def test_a_round_trip(protocol):
    stored = json.loads(json.dumps(protocol.as_json()))
    assert read(stored) == protocol
    assert changes(protocol, read(stored)) == []


def test_an_edited_protocol_is_refused(protocol):
    stored = protocol.as_json()
    with pytest.raises(AnalysisError, match="is not that of its fields: it was edited"):
        read(stored | {"score": "math"})
    with pytest.raises(AnalysisError, match="it was edited"):
        read({k: v for k, v in stored.items() if k != "design"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": "math"}, "score: 'domain_balanced' became 'math'"),
        ({"arms": ("a", "d")}, "arms: ['a', 'b'] became ['a', 'd']"),
        ({"design": design("sequential", 2, margin=2.0)}, "design.margin: 1.0 became 2.0"),
        ({"seeds": (1, 2)}, "seeds: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] became [1, 2]"),
    ],
)
def test_changes_are_named_with_both_values(protocol, change, said):
    now = replace(protocol, **change)
    assert changes(protocol, now) == [said]
    assert now.as_json()["digest"] != protocol.as_json()["digest"]


def test_a_changed_boundary_is_named(protocol):
    moved = replace(protocol.bounds, one_J=(2.0, *protocol.bounds.one_J[1:]))
    assert [c.split(":")[0] for c in changes(protocol, replace(protocol, bounds=moved))] == ["bounds.one_J"]


def test_looks_survive_a_round_trip_with_numbers_that_do_not_exist(protocol, rng):
    cells = {(m, s): Cell(state="done", score=float(rng.normal())) for m in ("a", "c") for s in range(11)}
    cells |= {("b", s): Cell(state="failed for good") for s in range(11)}
    found = take_look(protocol.design, protocol.bounds, 1, arms=protocol.arms, control="c", seeds=protocol.seeds,
                      cells=cells)  # fmt: skip
    lost = found.of("b")
    assert (lost.n, lost.verdict) == (0, "open")
    assert math.isnan(lost.delta)
    assert sentence(protocol.design, lost, "c") == "b has no usable run at look 1 of 3: 0 of 4 are finished."
    again = look_from_json(json.loads(json.dumps(look_as_json(found), allow_nan=False)))
    assert again.of("a") == found.of("a")
    assert math.isnan(again.of("b").delta)
    assert (again.look, again.refused) == (1, "")
    with pytest.raises(AnalysisError, match="expected look, decisions and refused"):
        look_from_json({"look": 1})
