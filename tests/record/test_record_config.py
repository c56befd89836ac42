"""config.yaml, its hash and the difference of two."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.record import (
    RecordError,
    RunRecord,
    changed,
    config_diff,
    config_hash,
    describe_diff,
    read_config,
    write_config,
    write_json,
)
from dataflex_rl.record.manifest import KEYS

CONFIG = {
    "seed": 0,
    "actor": {"lr": 1e-6, "name": "1e-6", "betas": [0.9, 0.999], "extra": {}},
    "trainer": {"logger": ["file"], "default_local_dir": "/a"},
    "none": None,
    "flag": False,
}


def test_config_survives_the_file(tmp_path):
    record = RunRecord(tmp_path)
    assert read_config(record) is None
    write_config(record, CONFIG)
    assert read_config(record) == CONFIG
    assert config_hash(read_config(record)) == config_hash(CONFIG)
    assert config_diff(CONFIG, read_config(record)) == []


def test_hash_sees_values_not_order_nor_ignored_keys():
    want = config_hash(CONFIG, ["trainer"])
    assert len(want) == 16
    assert config_hash(dict(reversed(CONFIG.items())), ["trainer"]) == want
    assert config_hash({**CONFIG, "trainer": {"logger": []}}, ["trainer"]) == want
    assert config_hash({**CONFIG, "seed": 1}, ["trainer"]) != want
    assert config_hash({**CONFIG, "seed": False}, ["trainer"]) != want
    assert config_hash({**CONFIG, "trainers": 1}, ["trainer"]) != want
    assert config_hash(CONFIG) != want


def test_diff_names_dotted_keys():
    new = {
        "seed": 0,
        "actor": {"lr": 2e-6, "name": "1e-6", "betas": [0.9], "extra": {"a": 1}},
        "trainer": {"logger": ["file"], "default_local_dir": "/b"},
        "flag": 0,
    }
    assert config_diff(CONFIG, new, ["trainer.default_local_dir"]) == [
        ("actor.betas", [0.9, 0.999], [0.9]),
        ("actor.extra", {}, "(absent)"),
        ("actor.extra.a", "(absent)", 1),
        ("actor.lr", 1e-6, 2e-6),
        ("flag", False, 0),
        ("none", None, "(absent)"),
    ]


def test_diff_in_one_line():
    diff = [(f"k{i}", i, i + 1) for i in range(4)]
    assert describe_diff(diff, limit=2) == "k0: 0 -> 1; k1: 1 -> 2; and 2 more"
    assert describe_diff(diff[:1]) == "k0: 0 -> 1"


@pytest.mark.parametrize("content", ["a: [", "- 1\n", "3"])
def test_a_broken_config_is_named(tmp_path, content):
    record = RunRecord(tmp_path)
    record.config.write_text(content)
    with pytest.raises(RecordError, match=r"config\.yaml"):
        read_config(record)


TRICKY = [
    *("1e-6", "1_000", "0x1F", "0o17", "1:30", ".5", "1.", "-.inf", ".nan", "nan", "NaN", "inf", "+1", "007"),
    *("yes", "on", "No", "OFF", "null", "Null", "~", "", " ", "true", "2020-01-01", "2020-01-01 10:00:00", "=", "<<"),
    *("???", "${a}", "${a", "\\${a}", "a: b", "- a", "#a", "a #b", "'", '"', "{a}", "[a", "*a", "&a", "!a", "%a", "@a"),
    *("a\nb", "a\n", "\n", "\ta", "é", "日本", "\x07", "\u2028", "\U0001f600", "x" * 300, "a  b\n\n  c"),
]


def test_every_text_comes_back_as_it_was(tmp_path):
    record = RunRecord(tmp_path)
    config = {"texts": TRICKY, **{f"k{number}": text for number, text in enumerate(TRICKY)}}
    write_config(record, config)
    assert config_diff(config, read_config(record)) == []


numbers = st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.none())
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
trees = st.recursive(
    numbers | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)


@settings(max_examples=80, deadline=None)
@given(config=st.dictionaries(st.from_regex(r"[a-z_]{1,6}", fullmatch=True), trees, max_size=4))
def test_any_configuration_comes_back_as_it_was(tmp_path_factory, config):
    record = RunRecord(tmp_path_factory.mktemp("record"))
    write_config(record, config)
    assert read_config(record) == config


def test_a_record_from_before_a_block_is_one_with_the_block_switched_off(tmp_path):
    record, old = RunRecord(tmp_path), {"lr": 1}
    off, on = ({"lr": 1, "dataflex": {"prompts": {"name": name, "params": {}}}} for name in ("none", "order"))
    write_config(record, old)
    write_json(record.manifest, dict.fromkeys(KEYS) | {"config_hash": config_hash(old)})
    assert changed(record, off) == changed(record, old) == ""
    assert changed(record, on).startswith("dataflex.prompts.name: (absent) -> order")
    write_config(record, off)  # continued by this version, which does not write the manifest anew
    assert changed(record, off) == ""
    assert changed(record, on) == "dataflex.prompts.name: none -> order"
    write_json(record.manifest, dict.fromkeys(KEYS) | {"config_hash": config_hash(off)})
    assert changed(record, off) == ""


def test_a_record_is_that_of_one_configuration(tmp_path):
    """config.yaml and the hash in manifest.json must both say so; what is not there says nothing."""
    record, config, volatile = RunRecord(tmp_path), {"lr": 1, "dir": "a"}, ("dir",)
    assert changed(record, config, volatile) == ""
    record.metrics.touch()
    assert changed(record, config, volatile) == "it has steps but neither config.yaml nor manifest.json"
    write_config(record, config)
    assert changed(record, {"lr": 1, "dir": "b"}, volatile) == ""
    assert changed(record, {"lr": 2, "dir": "a"}, volatile) == "lr: 1 -> 2"
    right = config_hash(config, volatile)
    write_json(record.manifest, dict.fromkeys(KEYS) | {"config_hash": right})
    assert changed(record, config, volatile) == ""
    write_config(record, {"lr": 2})  # edited by hand
    assert changed(record, config, volatile) == "lr: 2 -> 1"
    record.config.unlink()
    assert changed(record, config, volatile) == ""
    other = config_hash({"lr": 2})
    assert changed(record, {"lr": 2}, volatile) == f"config_hash in manifest.json: {right} -> {other}"
    write_config(record, config)
    write_json(record.manifest, dict.fromkeys(KEYS))
    assert changed(record, config, volatile) == f"config_hash in manifest.json: None -> {right}"
