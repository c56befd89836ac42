"""The finished model inside the package, and what is shown while something is built."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from dataflex_rl.data.cache import get_or_build
from dataflex_rl.data.progress import watched
from dataflex_rl.data.tiny.build import build, cached_model
from dataflex_rl.data.tiny.options import ModelOptions
from dataflex_rl.data.tiny.shipped_model import FOLDER, SUMS_FILE, copy_shipped, is_shipped, ship
from dataflex_rl.errors import ConfigError

# What the builder makes of the default options with torch 2.13.0 on AVX-512; every published result starts from it.
WEIGHTS = "4f3d3fd31d0b7348177e0ef5688540807260fbe37fd14af75ae5be71b5217b75"
TRAIN = "e8468eb9e19b70dc11db6eb5533f7f026cad62d11510c553f520dcd4e9111c18"
VAL = "62832d5b3c69fd2f3656d703730c1d344ef60d3618755889f426c632a57b3131"


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_new_machine_gets_the_pinned_model_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from dataflex_rl.data.tiny.build import build\n"
        f"build(cache_dir=Path({str(tmp_path)!r})); print(sorted({{'torch', 'transformers'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")
    paths = build(cache_dir=tmp_path)
    assert digest(paths.model / "model.safetensors") == WEIGHTS
    # A parquet file names its writer, so its bytes belong to a version of pyarrow.
    if b"parquet-cpp-arrow version 26.0.1" in paths.train.read_bytes():
        assert (digest(paths.train), digest(paths.val)) == (TRAIN, VAL)


@pytest.mark.slow
def test_the_builder_makes_the_shipped_model_bit_for_bit(tmp_path: Path) -> None:
    from dataflex_rl.data.tiny.model import build_model

    made_with = ("2.13.0", "AVX512")
    here = (torch.__version__.split("+")[0], torch.backends.cpu.get_cpu_capability())
    if here != made_with:
        pytest.skip(f"bits of pre-training belong to torch and processor: made with {made_with}, here {here}")
    build_model(tmp_path, ModelOptions())
    assert {file.name: digest(file) for file in tmp_path.iterdir() if file.name != "config.json"} == {
        file.name: digest(file) for file in FOLDER.iterdir() if file.name not in ("config.json", SUMS_FILE)
    }  # config.json names the version of transformers


def test_only_the_default_knobs_of_the_present_versions_are_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_shipped(ModelOptions())
    assert not is_shipped(ModelOptions(seed=1))
    assert not is_shipped(dataclasses.replace(ModelOptions(), steps=999))
    monkeypatch.setattr("dataflex_rl.data.tiny.shipped_model.MODEL_VERSION", 2)
    assert not is_shipped(ModelOptions())


def test_a_damaged_or_missing_file_is_refused(tmp_path: Path) -> None:
    ship(files_of_builder(tmp_path / "built"), tmp_path / "source")
    assert (tmp_path / "source" / SUMS_FILE).read_text() == (FOLDER / SUMS_FILE).read_text()
    target = tmp_path / "target"
    target.mkdir()
    copy_shipped(target, tmp_path / "source")
    assert digest(target / "model.safetensors") == WEIGHTS
    weights = tmp_path / "source" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(
        ConfigError, match=rf"model.safetensors has SHA-256 \w{{16}}, expected {WEIGHTS[:16]}; reinstall"
    ):
        copy_shipped(target, tmp_path / "source")
    weights.unlink()
    with pytest.raises(ConfigError, match=r"model.safetensors is missing or empty, expected"):
        copy_shipped(target, tmp_path / "source")


def files_of_builder(folder: Path) -> Path:
    """A copy of the shipped files without their list of digests, as the builder leaves them."""
    folder.mkdir()
    for file in FOLDER.iterdir():
        if file.name != SUMS_FILE:
            (folder / file.name).write_bytes(file.read_bytes())
    return folder


def wait_for(text: str, out: io.StringIO) -> None:
    deadline = time.monotonic() + 20
    while text not in out.getvalue():
        assert time.monotonic() < deadline, f"{text!r} not in {out.getvalue()!r}"
        time.sleep(0.01)


def test_lines_say_how_far_it_is_and_that_it_waits() -> None:
    out = io.StringIO()
    with watched("x", shown=True, file=out, every=0.02) as state:
        state.waiting()
        wait_for("waiting for the process that builds x: 0 s\n", out)
        state.starting()
        state.advance(3, 8)
        wait_for("building x: ", out)
    lines = out.getvalue().splitlines()
    assert re.fullmatch(r"building x: \d+ s, 3 of 8 steps", lines[-1])
    assert all(re.match(r"(waiting for the process that builds|building) x: \d+ s", line) for line in lines)


def test_a_short_build_and_an_unshown_one_say_nothing() -> None:
    out = io.StringIO()
    for shown, every in ((True, 10.0), (False, 0.01)):
        with watched("x", shown=shown, file=out, every=every):
            time.sleep(0.03)
    assert out.getvalue() == ""


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    with watched("x", shown=True, file=out) as state:
        state.advance(5, 8)
        wait_for("62%", out)  # 5 of 8
    assert "building x" in out.getvalue()


def test_one_builds_and_the_others_are_told_that_they_wait(tmp_path: Path) -> None:
    building, go = threading.Event(), threading.Event()
    told: list[str] = []
    made: list[Path] = []

    def make(folder: Path) -> None:
        building.set()
        assert go.wait(10)
        (folder / "a.txt").write_text("one")
        made.append(folder)

    def start(name: str) -> threading.Thread:
        def work() -> None:
            get_or_build(tmp_path / "x", ("a.txt",), make, waiting=lambda: (told.append(name), go.set()))

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    first = start("first")
    assert building.wait(10)
    second = start("second")
    for thread in (first, second):
        thread.join(20)
    assert told == ["second"]
    assert len(made) == 1


def test_another_seed_is_pretrained_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ModelOptions(seed=1, steps=3, batch=8, warmup_steps=1)
    assert digest(cached_model(options, cache_dir=tmp_path) / "model.safetensors") != WEIGHTS
    assert capsys.readouterr().err == ""  # over before the first line
