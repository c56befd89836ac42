"""What makes two runs comparable: one definition, its digest, and the names of what differs."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.config.mixing import MIX_MODE, PLAIN_MODE
from dataflex_rl.record.config import ABSENT, config_hash
from dataflex_rl.record.identity import VOLATILE
from dataflex_rl.record.pairs import (
    CARRIED_OUT,
    CONTROLS,
    FIELD,
    METHOD_KEYS,
    MODE,
    OUR_MODES,
    Terms,
    comparability,
    conditions,
    differences,
    is_allowed,
    is_written_with,
    kind_of,
    method_settings,
)

CONFIG: dict[str, Any] = {
    "actor": {"optim": {"lr": 1e-6}, "kl_coef": 0.001},
    "rollout": {"n": 8},
    "trainer": {"v1": {"trainer_mode": "dataflex_sync"}, "logger": ["console"]},
    "data": {"train_files": "/home/a/.cache/dataflex_rl/toy3-0123456789abcdef/train.parquet"},
    "dataflex": {"scorer": {"name": "none"}, "warmup_step": 0, "trace": False},
    "host": {"name": "cpu", "env": {"OMP_NUM_THREADS": "1"}},
    "method_name": "uniform",
    "run_dir": "/runs/x",
}


def with_key(key: str, value: Any) -> dict[str, Any]:
    config = copy.deepcopy(CONFIG)
    *above, last = key.split(".")
    node = config
    for name in above:
        node = node.setdefault(name, {})
    node[last] = value
    return config


def terms(config: dict[str, Any] | None, *, entry: bool = True) -> Terms:
    return Terms(entry=comparability(config) if entry and config is not None else None, config=lambda: config)


SILENT = [key for key in (*METHOD_KEYS, *VOLATILE, *CARRIED_OUT) if key not in (MODE, "host.env")]


@pytest.mark.parametrize("key", SILENT)
def test_method_place_and_carrying_out_do_not_count(key: str) -> None:
    for changed in (with_key(key, "other"), with_key(key, {"below": 3})):
        assert comparability(changed) == comparability(CONFIG)
        assert differences(terms(CONFIG), terms(changed)) == {}
        assert differences(terms(CONFIG, entry=False), terms(changed, entry=False)) == {}


@pytest.mark.parametrize(
    ("key", "value", "pair"),
    [
        ("actor.optim.lr", 3e-6, (1e-6, 3e-6)),
        ("actor.kl_coef", 0.0, (0.001, 0.0)),
        ("rollout.n", 16, (8, 16)),
        ("rollout.n", 8.0, (8, 8.0)),
        ("dataflex.warmup_step", 5, (0, 5)),
        ("host.env.OMP_NUM_THREADS", "2", ("1", "2")),
        ("new.key", None, (ABSENT, None)),
        (MODE, "sync", (ABSENT, "sync")),
        ("data.train_files", "/b/toy3-0123456789abcdee/train.parquet",
         ("toy3-0123456789abcdef/train.parquet", "toy3-0123456789abcdee/train.parquet")),
    ],
)  # fmt: skip
def test_everything_else_does_and_is_named(key: str, value: Any, pair: tuple[Any, Any]) -> None:
    changed = with_key(key, value)
    assert comparability(changed)["digest"] != comparability(CONFIG)["digest"]
    for entry in (True, False):  # also of records that are older than the digest
        assert differences(terms(CONFIG, entry=entry), terms(changed, entry=entry)) == {key: pair}


def test_where_a_cache_lies_and_which_of_our_trainers_it_is_do_not_count() -> None:
    moved = with_key("data.train_files", "/mnt/c/toy3-0123456789abcdef/train.parquet")
    assert comparability(moved) == comparability(CONFIG)
    assert set(OUR_MODES) == {PLAIN_MODE, MIX_MODE}
    for mode in OUR_MODES:
        assert conditions(with_key(MODE, mode)) == conditions(CONFIG)


def test_equal_digests_need_no_configuration_and_without_one_the_digests_are_named() -> None:
    def unread() -> None:
        raise AssertionError("the digests have settled it")

    entry = comparability(CONFIG)
    assert differences(Terms(entry=entry, config=unread), Terms(entry=dict(entry), config=unread)) == {}
    other = comparability(with_key("rollout.n", 16))
    found = differences(Terms(entry=entry, config=lambda: None), Terms(entry=other, config=lambda: None))
    assert found == {FIELD: (entry["digest"], other["digest"])}
    assert differences(Terms(entry=entry, config=lambda: None), terms(None)) is None


@pytest.mark.parametrize(
    ("actuator", "mixer", "prompts", "kind"),
    [
        ("none", "none", "none", None),
        (None, None, None, None),
        ("per", "tscl", "order", "policy"),
        ("none", "tscl", "order", "mixer"),
        ("none", "none", "order", "prompts"),
        (None, None, "order", "prompts"),
    ],
)
def test_the_kind_of_a_run(actuator: str | None, mixer: str | None, prompts: str | None, kind: str | None) -> None:
    assert kind_of(actuator, mixer, prompts) == kind
    assert kind is None or kind in CONTROLS


def test_a_selector_switched_off_is_one_that_is_not_there() -> None:
    """Records from before there were selectors lack the block, and their entries were written with other keys."""
    off, on = (with_key("dataflex.prompts", {"name": name, "params": {}}) for name in ("none", "order"))
    keys = [key for key in METHOD_KEYS if key != "dataflex.prompts"]
    old = {"digest": config_hash(conditions(CONFIG, keys)), "method_keys": keys}
    for config in (CONFIG, off):
        assert is_written_with(old, config)
        assert is_written_with(comparability(CONFIG), config)
        assert differences(Terms(entry=old, config=lambda: None), terms(config)) == {}
    assert not is_written_with(old, on)  # at that time nothing excused it
    assert method_settings(off) == method_settings(CONFIG) == {"dataflex.scorer.name": "none"}
    assert method_settings(on).keys() - method_settings(off).keys() == {
        "dataflex.prompts.name", "dataflex.prompts.params"
    }  # fmt: skip
    for broken in (None, "x", {}, {"digest": "0"}, old | {"method_keys": [1]}, old | {"digest": "0" * 16}):
        assert not is_written_with(broken, CONFIG)


def test_an_entry_of_another_definition_is_settled_by_the_configurations() -> None:
    """A version that left other keys out has other digests of the same configuration."""
    old = {"digest": "0" * 16, "method_keys": ["dataflex"]}
    assert differences(Terms(entry=old, config=lambda: CONFIG), terms(CONFIG)) == {}


LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.sampled_from(["a", "b"])
CONFIGS = st.dictionaries(st.sampled_from("abc"), LEAVES | st.dictionaries(st.sampled_from("de"), LEAVES), max_size=3)


@settings(max_examples=200, deadline=None)
@given(one=CONFIGS, other=CONFIGS)
def test_digests_agree_exactly_where_nothing_differs(one: dict[str, Any], other: dict[str, Any]) -> None:
    found = differences(terms(one, entry=False), terms(other, entry=False))
    assert found is not None
    assert (found == {}) == (comparability(one) == comparability(other))
    back = differences(terms(other), terms(one))
    assert back == {key: (b, a) for key, (a, b) in found.items()}


def test_a_key_is_allowed_by_its_name_or_one_above() -> None:
    assert is_allowed("actor.optim.lr", ["actor.optim.lr"])
    assert is_allowed("actor.optim.lr", ["rollout", "actor"])
    assert not is_allowed("actor.optim.lr", ["actor.optim.l", "lr", ""])
