"""Folders that a run writes outside of its record: named with a remedy where they cannot be, gone when it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from dataflex_rl.commands import doctor
from dataflex_rl.config.places import check_places, datasets_cache
from dataflex_rl.config.temporary import base_folder
from dataflex_rl.errors import ConfigError
from dataflex_rl.run import main
from dataflex_rl.runtime.scratch import scratch_folder

HOLD = """
import sys, time
from dataflex_rl.runtime.scratch import scratch_folder
with scratch_folder() as environment:
    print(environment["TMPDIR"], flush=True)
    time.sleep(60)
"""


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A short temporary folder of the test's own."""
    folder = Path(tempfile.mkdtemp(prefix="s-", dir="/tmp"))
    for name in ("TMPDIR", "RAY_TMPDIR"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def held(base: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_of_ones_own_ends_with_what_is_in_it(base: Path) -> None:
    with scratch_folder() as environment:
        folder = Path(environment["TMPDIR"])
        assert environment == {"TMPDIR": str(folder), "RAY_TMPDIR": str(folder)}
        assert folder.parent == base
        (folder / "ray" / "session_1").mkdir(parents=True)
        (folder / "ckpt_0.lock").touch()
    assert list(base.iterdir()) == []
    with pytest.raises(ZeroDivisionError), scratch_folder():
        1 / 0  # noqa: B018
    assert list(base.iterdir()) == []


def test_the_next_start_clears_what_a_killed_owner_left_and_nothing_else(base: Path) -> None:
    living, dead = held(base), held(base)
    dead[0].send_signal(signal.SIGKILL)
    dead[0].wait()
    for other in ("dfx-of-another-program", "ray", "mine"):
        (base / other).mkdir()
    used = base / "dfx-inherited"  # its owner is dead, but a process still has it as its temporary folder
    used.mkdir()
    (used / ".owner").touch()
    child = subprocess.Popen(["sleep", "60"], env={**os.environ, "TMPDIR": str(used)})
    try:
        assert dead[1].is_dir()
        with scratch_folder() as environment:
            kept = {"dfx-of-another-program", "ray", "mine", "dfx-inherited", living[1].name}
            assert {path.name for path in base.iterdir()} == {*kept, Path(environment["TMPDIR"]).name}
    finally:
        for process in (living[0], child):
            process.kill()
            process.wait()
    with scratch_folder():
        pass
    assert {path.name for path in base.iterdir()} == {"dfx-of-another-program", "ray", "mine"}


def test_a_path_too_long_for_the_sockets_gives_way_to_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("RAY_TMPDIR", str(long))
    assert base_folder() == Path("/tmp")
    monkeypatch.delenv("RAY_TMPDIR")
    monkeypatch.setenv("TMPDIR", str(long))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with scratch_folder() as environment:
        socket = f"{environment['RAY_TMPDIR']}/ray/session_2026-11-30_21-33-12_123456_1234567/sockets/plasma_store"
        assert len(socket) <= 107
    monkeypatch.setattr("dataflex_rl.config.temporary._SHORT", "/proc/nothing")
    with pytest.raises(
        ConfigError, match=r"no temporary folder serves: /.*xxx \(too long a path\), /proc/nothing \(not"
    ):
        base_folder()


@pytest.mark.parametrize(
    ("environment", "where"),
    [
        ({"HF_DATASETS_CACHE": "/d"}, "/d"),
        ({"HF_DATASETS_CACHE": "", "HF_HOME": "/h"}, "/h/datasets"),
        ({"HF_DATASETS_CACHE": "", "HF_HOME": "", "XDG_CACHE_HOME": "/c"}, "/c/huggingface/datasets"),
        (
            {"HF_DATASETS_CACHE": "", "HF_HOME": "", "XDG_CACHE_HOME": "", "HOME": "/u"},
            "/u/.cache/huggingface/datasets",
        ),
    ],
)
def test_the_cache_of_datasets_is_where_the_library_has_it(
    environment: dict[str, str], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        if value:
            monkeypatch.setenv(name, value)
        else:
            monkeypatch.delenv(name, raising=False)
    assert datasets_cache() == Path(where)


def test_the_cache_of_datasets_is_where_the_library_itself_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    code = "import datasets; print(datasets.config.HF_DATASETS_CACHE)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert datasets_cache() == Path(done.stdout.strip())


@pytest.mark.parametrize("dry", ["true", "false"])
def test_a_home_that_cannot_be_written_is_one_line_with_a_remedy(
    dry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").write_text("a file, so that nobody can write below it")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HF_DATASETS_CACHE"):
        monkeypatch.delenv(name, raising=False)
    assert main([f"runs_dir={tmp_path}/runs", f"dry_run={dry}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        f"error: cache of datasets: {tmp_path}/home/.cache/huggingface/datasets cannot be written to"
    )
    assert "set HF_DATASETS_CACHE, or XDG_CACHE_HOME, to a folder that can be" in error
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    assert main([f"runs_dir={tmp_path}/runs", f"dry_run={dry}"]) == 2
    assert "error: cache: " in (error := capsys.readouterr().err)
    assert "set XDG_CACHE_HOME to a folder that can be" in error
    assert len(error.splitlines()) == 1
    checks = {check.name: check for check in doctor.check_disk(str(tmp_path / "runs"))}
    assert (checks["disk for the cache"].status, checks["disk for the cache of datasets"].status) == ("fail", "ok")
    assert checks["disk for the cache"].todo == "set XDG_CACHE_HOME to a folder that can be"


def test_what_is_there_already_needs_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))
    (tmp_path / "file").touch()
    monkeypatch.setattr("dataflex_rl.config.places.default_root", lambda: tmp_path / "file" / "cache")
    files = {"train_files": "/a.parquet", "val_files": "/b.parquet"}
    config = OmegaConf.create({"data": files, "actor_rollout_ref": {"model": {"path": "/m"}}})
    check_places(config)
    config.data.train_files = "build:text3"
    monkeypatch.setattr("dataflex_rl.data.catalogue.default_root", lambda: tmp_path / "none")
    with pytest.raises(ConfigError, match=r"cache: .*/file/cache cannot be written to"):
        check_places(config)


def test_the_doctor_names_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {check.name: check for check in doctor.check_disk(str(tmp_path))}["temporary folder"]
    assert (found.status, found.detail) == ("ok", str(base_folder()))
    monkeypatch.setenv("RAY_TMPDIR", "/proc/no")
    monkeypatch.setattr("dataflex_rl.config.temporary._SHORT", "/proc/nothing")
    found = {check.name: check for check in doctor.check_disk(str(tmp_path))}["temporary folder"]
    assert found.status == "fail"
    assert found.todo.startswith("set TMPDIR to a writable one of at most 26 characters")
    assert "no temporary folder" in doctor._probe("probe_torch")["error"]


def test_a_wait_for_the_lock_of_a_folder_is_none(base: Path) -> None:
    process, folder = held(base)
    begin = time.monotonic()
    with scratch_folder():
        assert folder.is_dir()
    process.kill()
    process.wait()
    assert time.monotonic() - begin < 5.0
