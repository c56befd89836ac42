"""The study's training task, prepared on the command line from a few local rows."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from dataflex_rl.data.tasks.items import read_items
from dataflex_rl.prepare import main, parse
from dataflex_rl.run import main as run_main
from dataflex_rl.seeding import dataset_fingerprint

DATA = Path(__file__).parent.parent / "data"
SMALL = ("prompts=2", "held_out=1")


def prepare(folder: Path, *arguments: str) -> int:
    return main([f"source={DATA}", f"out={folder}", *arguments])


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DATAFLEX_RL_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


def test_every_domain_gives_its_prompts_and_the_card_says_where_from(root: Path, tmp_path: Path) -> None:
    assert main(["benchmark=paper12", f"source={DATA / 'benchmarks'}", "any_size=true"]) == 0
    assert prepare(tmp_path / "out", "task=multidomain3", *SMALL) == 0
    train, val = (read_items(tmp_path / "out" / f"{split}.parquet") for split in ("train", "val"))
    for items, per_domain in ((train, 2), (val, 1)):
        domains = [item.domain for item in items]
        assert sorted(domains) == ["logic"] * per_domain + ["math"] * per_domain + ["science"] * per_domain
    assert not {item.question for item in train} & {item.question for item in val}
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["sources"][0] == {
        "source": "gsm8k", "domain": "math", "path": str(DATA), "files": [str(DATA / "gsm8k.jsonl")],
        "left_out": {}, "rows_in": 5, "rows_out": 3,
        "dropped": {"no answer": 1, "repeated question": 1},
    }  # fmt: skip
    assert card["overlap"]["math"] == {"exact": 0, "ngram": 0}
    assert sum(card["against"].values()) == 24
    assert card["files"]["train"]["fingerprint"] == dataset_fingerprint(tmp_path / "out" / "train.parquet")


def test_a_prompt_that_a_benchmark_has_is_left_out_and_counted(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    lines = (DATA / "gsm8k.jsonl").read_text().splitlines(keepends=True)
    (source / "gsm8k.jsonl").write_text("".join(lines[:3]))
    assert main(["benchmark=gsm8k", f"source={source}", "any_size=true"]) == 0  # the same questions
    assert prepare(tmp_path / "out", "task=multidomain_math", "against=gsm8k", *SMALL) == 0
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["overlap"]["math"]["exact"] == 3
    assert "gsm8k" not in card["train"]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(root: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        assert prepare(tmp_path / name, "task=multidomain_math", "against=none", f"seed={seed}", *SMALL) == 0
    first, again, other = ((tmp_path / name / "train.parquet").read_bytes() for name in "abc")
    assert first == again != other


def test_the_sources_of_mathematics_take_turns(root: Path, tmp_path: Path) -> None:
    assert prepare(tmp_path, "task=multidomain_math", "against=none", "prompts=6", "held_out=3") == 0
    for split, each in (("train", 2), ("val", 1)):
        sources = sorted(item.source for item in read_items(tmp_path / f"{split}.parquet"))
        assert sources == sorted(["gsm8k", "deepscaler", "dapo_math_17k"] * each)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("task=multidomain_science", "against=none"), "science has 3 prompts left, expected 5000 \\+ 100 held out"),
        (("task=multidomain3",), "against=paper12: .* is not there; run first: .* benchmark=paper12"),
        (("task=nothing",), "unknown task 'nothing'; known: multidomain3"),
        (("benchmark=nothing",), "unknown benchmark 'nothing'; known: aime24"),
        (("task=a", "benchmark=b"), "expected one of task=NAME and benchmark=NAME"),
        ((), "expected one of task=NAME and benchmark=NAME"),
        (("task=text3", "sed=1"), "unknown setting 'sed=1'; known: against="),
        (("task=text3", "seed=-1"), "seed='-1': expected an integer >= 0"),
        (("task=text3", "seed=1", "seed=2"), "seed is set twice"),
        (("benchmark=gsm8k", "any_size=maybe"), "any_size='maybe': expected true or false"),
        (("task=multidomain_math", "prompts=0"), "prompts='0': expected an integer >= 1"),
        (("task=multidomain_math", "held_out=0"), "held_out='0': expected an integer >= 1"),
        (("task=multidomain_math", f"prompts={'9' * 5000}"), "prompts='9{20}\\.\\.\\.': expected an integer"),
        (("task=text3",), "source: is no setting of task=text3, which takes out, seed, against, train_size, val_size"),
        (("benchmark=text12",), "source: is no setting of benchmark=text12, which takes out$"),
        (("benchmark=gsm8k", "prompts=7"), "prompts: is no setting of benchmark=gsm8k, which takes source, out, seed"),
        (("task=multidomain_math", "train_size=3"), "train_size: is no setting of task=multidomain_math, which takes"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_in_one_line(
    arguments: tuple[str, ...], message: str, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prepare(tmp_path / "out", *arguments) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert re.search(message, error), error


def test_sizes_of_text3_fit_its_domains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for size in ("10", "0"):
        assert main(["task=text3", f"out={tmp_path}", f"train_size={size}", "against=none"]) == 2
        assert f"text3 train_size: got {size}, expected a positive multiple of 3" in capsys.readouterr().err


def test_text3_of_another_size_says_how_a_run_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["task=text3", f"out={tmp_path / 'made'}", "train_size=30", "val_size=15", "against=none"]) == 0
    lines = capsys.readouterr().out.splitlines()
    facts = json.loads(lines[1])
    assert (facts["train_size"], facts["val_size"], facts["seed"]) == (30, 15, 0)
    command = shlex.split(lines[-1].strip().removeprefix("use: "))
    files = [f"data.{split}_files={tmp_path / 'made' / split}.parquet" for split in ("train", "val")]
    words = command[3:]
    assert (command[:3], words) == (["python", "-m", "dataflex_rl.run"], ["task=text3", *files])
    assert run_main([f"runs_dir={tmp_path}/runs", "dry_run=json", "model=smollm2_135m", *words]) == 0
    assert json.loads(capsys.readouterr().out)["train_files"] == str(tmp_path / "made" / "train.parquet")


def test_a_benchmark_file_that_cannot_be_read_is_one_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "gsm8k").mkdir(parents=True)
    (root / "gsm8k" / "test.parquet").write_text("no table")
    assert main(["task=multidomain_math", f"source={DATA}", "against=gsm8k"]) == 2
    assert re.fullmatch(r"error: against=gsm8k: .*test.parquet cannot be read .*\n", capsys.readouterr().err)


def test_the_same_question_is_taken_once_whatever_its_notation(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    questions = (
        "An angle has $60^{\\circ}$. Find its double.",
        "An angle has \\(60^\\circ\\). Find its double",
        "Find 1",
        "Find 2",
    )
    rows = [{"problem": question, "answer": "1"} for question in questions]
    for name in ("gsm8k", "dapo_math_17k"):
        (source / f"{name}.jsonl").write_text((DATA / f"{name}.jsonl").read_text().splitlines()[0])
    (source / "deepscaler.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["task=multidomain_math", f"source={source}", f"out={tmp_path / 'out'}", "against=none", "held_out=1"]
    assert main([*arguments, "prompts=5"]) == 2
    assert main([*arguments, "prompts=4"]) == 0


def test_help_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "python -m dataflex_rl.prepare task=multidomain3" in capsys.readouterr().out
    request = parse(["task=text3"])
    assert (request.source, request.seed, request.any_size, request.out) == ("hub", 0, False, None)
