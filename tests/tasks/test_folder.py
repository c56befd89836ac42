"""A folder of prepared data is replaced as a whole, whatever happens on the way."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dataflex_rl.data.catalogue import prepared
from dataflex_rl.data.tasks import folder as module
from dataflex_rl.data.tasks.card import is_whole
from dataflex_rl.data.tasks.folder import replaced
from dataflex_rl.errors import ConfigError
from dataflex_rl.prepare import main
from dataflex_rl.seeding import dataset_fingerprint
from tests.record.faults import refused

FILES = ("a", "b")
DATA = Path(__file__).parent.parent / "data"
SMALL = ("task=multidomain_math", f"source={DATA}", "against=none", "prompts=4", "held_out=2")


def put(folder: Path, text: str) -> None:
    with replaced(folder, FILES) as new:
        for name in FILES:
            (new / name).write_text(text)


def put_half(folder: Path, error: type[BaseException]) -> None:
    with replaced(folder, FILES) as new:
        (new / "a").write_text("new")
        raise error


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def left_beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir())


def prepare(out: Path, seed: int, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dataflex_rl.prepare", *SMALL, f"seed={seed}", f"out={out}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


@pytest.mark.parametrize("exchange", [True, False])
def test_a_new_folder_an_empty_one_and_an_old_one_are_replaced(
    exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchange:
        monkeypatch.setattr(module, "_exchange", lambda first, second: False)
    (tmp_path / "empty").mkdir()
    for name in ("deep/new", "empty"):
        for text in ("1", "2"):
            put(tmp_path / name, text)
            assert contents(tmp_path / name) == {"a": text.encode(), "b": text.encode()}
            assert left_beside(tmp_path / name / "a")[:2] == ["a", "b"]
    assert left_beside(tmp_path / "empty") == [".empty.lock", "deep", "empty"]


def test_an_error_leaves_the_old_folder_and_nothing_else(tmp_path: Path) -> None:
    put(tmp_path / "d", "old")
    for error in (KeyError, KeyboardInterrupt):
        with pytest.raises(error):
            put_half(tmp_path / "d", error)
    assert contents(tmp_path / "d") == {"a": b"old", "b": b"old"}
    assert left_beside(tmp_path / "d") == [".d.lock", "d"]


KILLED = """
import os, signal, sys
from pathlib import Path
from dataflex_rl.data.tasks.folder import replaced
with replaced(Path(sys.argv[1]), ("a", "b")) as new:
    for name in ("a", "b")[: int(sys.argv[2])]:
        (new / name).write_text("new")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("written", [0, 1, 2])
def test_a_kill_leaves_the_old_folder_and_the_next_one_cleans_up(written: int, tmp_path: Path) -> None:
    put(tmp_path / "d", "old")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "d"), str(written)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert contents(tmp_path / "d") == {"a": b"old", "b": b"old"}
    put(tmp_path / "d", "next")
    assert contents(tmp_path / "d") == {"a": b"next", "b": b"next"}
    assert left_beside(tmp_path / "d") == [".d.lock", "d"]


def test_what_a_kill_between_two_moves_left_aside_comes_back(tmp_path: Path) -> None:
    put(tmp_path / "d", "old")
    (tmp_path / "d").rename(tmp_path / ".d.old")
    with pytest.raises(KeyError), replaced(tmp_path / "d", FILES):
        raise KeyError
    assert contents(tmp_path / "d") == {"a": b"old", "b": b"old"}
    assert left_beside(tmp_path / "d") == [".d.lock", "d"]


def test_many_at_once_leave_one_of_them_whole_and_readers_always_find_one(tmp_path: Path) -> None:
    put(tmp_path / "d", "0")
    threads = [threading.Thread(target=lambda i=i: [put(tmp_path / "d", str(i)) for _ in range(20)]) for i in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert (tmp_path / "d" / "a").is_file()
    found = contents(tmp_path / "d")
    assert found["a"] == found["b"]
    assert left_beside(tmp_path / "d") == [".d.lock", "d"]


def test_a_folder_with_anything_else_in_it_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letters").write_text("dear")
    with pytest.raises(ConfigError, match=r"home: has letters; expected a new folder, or one with nothing but a, b"):
        put(tmp_path / "home", "1")
    assert contents(tmp_path / "home") == {"letters": b"dear"}


def test_the_current_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="is the current folder or holds it"):
        put(Path(), "1")


def test_two_preparations_at_once_leave_one_of_them_whole(tmp_path: Path) -> None:
    alone = {}
    for seed in (0, 1):
        assert prepare(tmp_path / f"alone{seed}", seed).returncode == 0
        alone[seed] = contents(tmp_path / f"alone{seed}")
    command = [sys.executable, "-m", "dataflex_rl.prepare", *SMALL, f"out={tmp_path / 'd'}"]
    both = [subprocess.Popen([*command, f"seed={seed}"], stdout=subprocess.DEVNULL) for seed in (0, 1)]
    assert [process.wait(timeout=300) for process in both] == [0, 0]
    found = contents(tmp_path / "d")
    assert found in alone.values()
    card = json.loads(found["card.json"])
    for split in ("train", "val"):
        assert card["files"][split]["fingerprint"] == dataset_fingerprint(tmp_path / "d" / f"{split}.parquet")


def test_a_full_disk_is_one_line_and_leaves_the_old_folder(tmp_path: Path) -> None:
    assert prepare(tmp_path / "d", 0).returncode == 0
    before = contents(tmp_path / "d")
    failed = prepare(tmp_path / "d", 1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
    assert failed.returncode == 2
    assert failed.stderr.strip().splitlines() == [failed.stderr.strip()]
    assert "cannot be written" in failed.stderr
    assert "File too large" in failed.stderr
    assert failed.stderr.strip().endswith("what was there is unchanged")
    assert contents(tmp_path / "d") == before
    assert left_beside(tmp_path / "d") == [".d.lock", "d"]


def test_prepared_data_are_ready_once_the_whole_folder_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAFLEX_RL_DATA", str(tmp_path))
    folder = tmp_path / "multidomain_math"
    assert not prepared("multidomain_math").ready()
    assert main(list(SMALL)) == 0
    assert prepared("multidomain_math").ready()
    whole = contents(folder)
    for name in ("train.parquet", "val.parquet"):
        (folder / name).unlink()
        assert not prepared("multidomain_math").ready()
        (folder / name).write_bytes(whole[name][:-1])
        assert not prepared("multidomain_math").ready()
        (folder / name).write_bytes(whole[name])
        assert prepared("multidomain_math").ready()
    for broken in ("", "{}", "[]", '{"files": {"test": {"file": "test.parquet"}}}'):
        (folder / "card.json").write_text(broken)
        assert not prepared("multidomain_math").ready()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("~nouser-here/x", "there is no such home folder"),
        ("/proc/x", "/proc/x: cannot be written"),
        ("/dev/full/x", "/dev/full/x: cannot be written"),
        (__file__, "cannot be written"),
        (f"{os.sep}tmp{os.sep}{'x' * 300}", "File name too long"),
        ("", "out='': expected a folder"),
    ],
)
def test_a_folder_that_cannot_be_is_refused_in_one_line(
    out: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, f"out={out}"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_prepared_data_that_cannot_be_read_are_not_called_missing(tmp_path: Path) -> None:
    assert main([*SMALL, f"out={tmp_path / 'out'}"]) == 0
    for name in ("card.json", "train.parquet"):
        with refused(tmp_path / "out" / name, errno.ESTALE), pytest.raises(ConfigError, match="cannot be read"):
            is_whole(tmp_path / "out")
    assert is_whole(tmp_path / "out")
    (tmp_path / "out" / "train.parquet").unlink()
    assert not is_whole(tmp_path / "out")
