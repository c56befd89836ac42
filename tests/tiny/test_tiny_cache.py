import os
import threading
from pathlib import Path

import pytest

from dataflex_rl.data.cache import entry_path, get_or_build, is_complete
from dataflex_rl.data.tiny.build import TinyPaths, is_built, tiny_paths
from dataflex_rl.errors import ConfigError
from tests.record.faults import REASONS, refused


def maker(text, calls):
    def make(folder):
        calls.append(folder)
        (folder / "a.txt").write_text(text)

    return make


def test_an_entry_is_made_once(tmp_path):
    calls = []
    entry = tmp_path / "deep" / "x-1"
    for _ in range(2):
        assert get_or_build(entry, ("a.txt",), maker("one", calls)) == entry
    assert len(calls) == 1
    assert (entry / "a.txt").read_text() == "one"


def test_threads_that_race_make_it_once(tmp_path):
    calls = []
    start = threading.Barrier(4)

    def work():
        start.wait()
        get_or_build(tmp_path / "x-1", ("a.txt",), maker("one", calls))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert sorted(os.listdir(tmp_path)) == ["x-1", "x-1.lock"]


def test_a_failed_build_leaves_nothing_and_the_next_one_works(tmp_path):
    def fail(folder):
        (folder / "a.txt").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        get_or_build(tmp_path / "x-1", ("a.txt",), fail)
    assert os.listdir(tmp_path) == ["x-1.lock"]
    get_or_build(tmp_path / "x-1", ("a.txt",), maker("whole", []))
    assert (tmp_path / "x-1" / "a.txt").read_text() == "whole"


def test_an_entry_that_lost_a_file_is_made_again(tmp_path):
    entry = get_or_build(tmp_path / "x-1", ("a.txt",), maker("one", []))
    (entry / "a.txt").unlink()
    assert not is_complete(entry, ("a.txt",))
    get_or_build(entry, ("a.txt",), maker("two", []))
    assert (entry / "a.txt").read_text() == "two"


def test_the_name_follows_every_knob_and_not_their_order(tmp_path):
    base = entry_path(tmp_path, "tiny", {"seed": 0, "steps": 5})
    assert base == entry_path(tmp_path, "tiny", {"steps": 5, "seed": 0})
    others = [
        entry_path(tmp_path, "tiny", {"seed": 1, "steps": 5}),
        entry_path(tmp_path, "toy3", {"seed": 0, "steps": 5}),
    ]
    assert len({base, *others}) == 3
    assert base.parent == tmp_path


def test_paths_are_known_before_anything_is_built(tmp_path):
    paths = tiny_paths(cache_dir=tmp_path)
    assert not is_built(paths)
    assert os.listdir(tmp_path) == []
    assert paths.train.name == "train.parquet"
    assert paths.train.parent == paths.val.parent != paths.model
    assert tiny_paths(seed=1, cache_dir=tmp_path).model != paths.model
    assert isinstance(paths, TinyPaths)
    assert isinstance(paths.model, Path)


@pytest.mark.parametrize("reason", REASONS)
def test_an_entry_that_cannot_be_read_is_not_built_anew(tmp_path, reason):
    entry = tmp_path / "entry"
    get_or_build(entry, ("a.txt",), lambda folder: (folder / "a.txt").write_text("first"))

    def again(folder):
        raise AssertionError("a look that failed is no reason to build")

    with refused(entry / "a.txt", reason), pytest.raises(ConfigError, match=rf"{entry}/a\.txt: cannot be read"):
        get_or_build(entry, ("a.txt",), again)
    assert (entry / "a.txt").read_text() == "first"
