"""scripts/grade_suite.py on files of every suite's format."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "grade_suite.py"
ROWS = {
    "mmlu-pro": [
        {"answer": "B", "pred": "B", "model_outputs": "The answer is (B)."},
        {"answer": "B", "pred": "C", "model_outputs": "The answer is (C)."},
        {"answer": "B", "pred": None, "model_outputs": "I do not know."},
    ],
    "logic-rl": [
        {
            "names": ["Ann", "Bob"],
            "solution": [True, False],
            "response": "<answer>(1) Ann is a knight (2) Bob is a knave",
        },
        {"gold": "Ann is a knight", "response": "<answer>Ann is a knave</answer>"},
    ],
    "reasoning-gym": [
        {"answer": "12", "metadata": {"source_dataset": "chain_sum"}},
        {
            "answer": "Ann is a hero.",
            "metadata": {"source_dataset": "knights_knaves", "names": ["Ann"], "solution": [True]},
        },
        {"answer": "12", "metadata": {"source_dataset": "chain_sum"}, "response": "\\boxed{13}", "score": 0.01},
        {"answer": "?", "metadata": {"source_dataset": "sudoku"}},
    ],
    "pairs": [
        {"gold": "\\frac12", "response": "0.5", "right": True},
        {"gold": "C", "response": "The answer is D", "right": False, "verifier": "choice"},
    ],
}
ROWS["logic-rl"][0]["right"], ROWS["logic-rl"][1]["right"] = True, False
AGREED = {"mmlu-pro": "2 of 2", "logic-rl": "2 of 2", "reasoning-gym": "5 of 5", "pairs": "2 of 2"}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("suite", ROWS)
def test_a_suite_that_agrees(suite: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS[suite])))
    done = run(suite, path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{suite}: {AGREED[suite]} agreed")


def test_tests_in_python_are_read_and_disagreements_printed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "CASES = [('$\\\\frac12$', 'so it is \\\\boxed{0.5}', 1), ('$5$', '$6$', 0), ('$5$', '$6$ and $7$', 0),\n"
        "         ('$7$', '$7.0$', 0), ('$1/3$', '$0.33$', 1), ('$8$', '$9$', 1), ('$8$', '$9$', 0)]\n"
    )
    done = run("math-verify", tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "right here, wrong there: gold '7', answer '7.0'",
        "wrong here, right there: gold '1/3', answer '0.33'",
        "math-verify: 2 of 4 agreed; 2 agreed, 1 right here, wrong there, 1 wrong here, right there, 2 left out",
    ]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = run("pairs", tmp_path / "none.jsonl")
    assert done.returncode == 2
    assert f"no file {tmp_path / 'none.jsonl'}" in done.stderr
