"""Sweep files and the launcher's settings: what is read, and that whatever is wrong is named in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflex_rl.config.paths import shipped
from dataflex_rl.errors import ConfigError
from dataflex_rl.sweep.files import find_sweep, read_sweep
from dataflex_rl.sweep.options import LaunchOptions, options_of, split_settings

FILE = """
name: mine
claim: it works
controls: [uniform]
methods: [uniform, ar]
seeds: 0-2
overrides: [model=tiny]
vary: [[regime.label_noise=0.2], [regime.data_fraction=0.5]]
estimate: {response_tokens: 100, tokens_per_gpu_second: {tiny: 10}}
launcher: {retries: 3}
ray: {address: "auto"}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    sweep = read_sweep(write(tmp_path, FILE))
    assert (sweep.name, sweep.methods, sweep.seeds) == ("mine", ("uniform", "ar"), (0, 1, 2))
    assert sweep.vary == (("regime.label_noise=0.2",), ("regime.data_fraction=0.5",))
    assert sweep.estimate.tokens_per_gpu_second == {"tiny": 10}
    assert options_of(sweep.launcher) == LaunchOptions(retries=3, address="auto")


def test_seeds_are_read_as_they_are_written(tmp_path: Path) -> None:
    """In YAML 010 is 8."""
    assert read_sweep(write(tmp_path, FILE.replace("seeds: 0-2", "seeds: 010"))).seeds == (10,)
    assert read_sweep(write(tmp_path, FILE.replace("seeds: 0-2", "seeds: [0-1, 08, 7]"))).seeds == (0, 1, 8, 7)
    assert read_sweep(write(tmp_path, FILE.replace("seeds: 0-2", "seeds: 0"))).seeds == (0,)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("claim:", "clam:", "unknown sweep key 'clam'; known: claim, controls"),
        ("claim: it works", "", "lacks claim"),
        ("seeds: 0-2", "seeds: 5-2", "the range 5-2 runs backwards"),
        ("seeds: 0-2", "seeds: [1, 1]", "seed 1 is named twice"),
        ("seeds: 0-2", "seeds: [1:30]", "'1:30' is no seed"),
        ("seeds: 0-2", "seeds: 0x10", "'0x10' is no seed"),
        ("seeds: 0-2", "seeds: 0-2\nseeds: 7", "the key seeds stands there twice"),
        ("{retries: 3}", "{retries: 3, retries: 4}", "the key retries stands there twice"),
        ("[model=tiny]", "[seed=3]", "override 'seed=3': set seed by seeds:"),
        ("[model=tiny]", "[++method=ar]", "override '++method=ar': set method by methods:"),
        ("[model=tiny]", "[sweep=x]", "override 'sweep=x': set sweep by name:"),
        ("[regime.label_noise=0.2]", "[runs_dir=x]", "override 'runs_dir=x': set runs_dir by the command line"),
        ("response_tokens: 100", "response_tokens: .inf", "estimate.response_tokens=inf: expected a number above 0"),
        ("[uniform, ar]", "[uniform, ar, ar]", "methods names ar twice"),
        ("[uniform, ar]", "uniform", "methods='uniform': expected a list"),
        ("name: mine", "name: a/b", "name='a/b'"),
        ("vary: [[regime.label_noise=0.2]", "vary: [regime.label_noise=0.2", "expected a list of lists"),
        ("response_tokens: 100", "response_tokens: -1", "estimate.response_tokens=-1: expected a number above 0"),
        (
            "response_tokens: 100",
            "response_tokens: {a: 1}",
            "response_tokens={'a': 1}: expected a number",
        ),
        ("{tiny: 10}", "10", "estimate.tokens_per_gpu_second=10: expected a number above 0 for each model"),
        ("[uniform, ar]", "[]", "lacks methods"),
        ("[uniform, ar]", "[1]", "methods=[1]: expected a list of texts"),
        ("seeds: 0-2", "seeds: []", "lacks seeds"),
        ("claim:", "1:", "unknown sweep key 1"),
        ("response_tokens", "answer_tokens", "unknown estimate 'answer_tokens'"),
        ("{address:", "{adress:", "unknown ray setting 'adress'; known: address"),
        ("name: mine", "- x", "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_file_is_named_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(ConfigError) as caught:
        read_sweep(write(tmp_path, FILE.replace(old, new)))
    assert said in str(caught.value)
    assert "mine.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sweeps_are_found_by_name_or_path(tmp_path: Path) -> None:
    assert find_sweep("smoke_cpu") == shipped("sweeps") / "smoke_cpu.yaml"
    path = write(tmp_path, FILE)
    assert find_sweep(str(path)) == path
    with pytest.raises(ConfigError, match="unknown sweep 'smoke'; known: constrained, long, paper_llama8b"):
        find_sweep("smoke")
    with pytest.raises(ConfigError, match="no such file"):
        find_sweep(str(tmp_path / "other.yaml"))


@pytest.mark.parametrize(
    ("name", "methods", "seeds"),
    [
        ("paper_qwen7b", 13, 12),
        ("paper_llama8b", 13, 12),
        ("smoke_cpu", 13, 2),
        ("constrained", 13, 3),
        ("long", 5, 3),
        ("scale", 5, 3),
        ("select_cpu", 8, 12),
    ],
)
def test_shipped_sweeps_have_their_controls_and_say_what_they_are(name: str, methods: int, seeds: int) -> None:
    path = shipped("sweeps") / f"{name}.yaml"
    sweep = read_sweep(path)
    assert (sweep.name, len(sweep.methods), len(sweep.seeds)) == (name, methods, seeds)
    controls = ("uniform",) if name == "select_cpu" else ("uniform", "static")  # prompt selectors alone mix nothing
    assert set(controls) <= set(sweep.methods)
    assert sweep.controls == controls
    head = path.read_text().split("\n\n")[0]
    assert head.startswith(f"# python -m dataflex_rl.sweep launch {name}")
    for part in ("# Claim:", "# Runs:", "# Cost:", "GPU-hours", "tokens", "# Feeds: python -m analysis.tables"):
        assert part in head
    options_of(sweep.launcher)


def test_settings_are_split_from_the_overrides() -> None:
    arguments = ["ray.address=auto", "launcher.retries=0", "launcher.timeout=1.5", "model=tiny", "--x"]
    settings, rest = split_settings(arguments)
    assert settings == {"address": "auto", "retries": 0, "timeout": 1.5}
    assert rest == ["model=tiny", "--x"]
    assert split_settings(["ray.address=null"])[0] == {"address": None}


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("launcher.retires=1", "unknown launcher setting 'retires'; known: address, backoff"),
        ("launcher.retries=-1", "launcher.retries=-1: expected an integer >= 0"),
        ("launcher.retries=1.5", "launcher.retries=1.5: expected an integer >= 0"),
        ("launcher.max_concurrent=0", "launcher.max_concurrent=0: expected an integer >= 1"),
        ("launcher.timeout=0", "expected a number above 0 [s], or null for no bound"),
        ("launcher.timeout=.inf", "launcher.timeout=inf: expected a number above 0 [s]"),
        ("launcher.backoff=.inf", "launcher.backoff=inf: expected a number >= 0"),
        ("launcher.gpus=.inf", "launcher.gpus=inf: expected a number >= 0"),
        ("launcher.cpus=.nan", "launcher.cpus=nan: expected a number >= 0"),
        ("launcher.backoff=soon", "launcher.backoff='soon': expected a number >= 0"),
        ("launcher.fail_fast=1", "launcher.fail_fast=1: expected true or false"),
        ("launcher.cpus=[", "cannot be read as a value"),
        ("launcher.address=5", "ray.address=5: expected the address"),
    ],
)
def test_settings_out_of_range_are_named(argument: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        options_of(split_settings([argument])[0])
    assert said in str(caught.value)
