"""Grade public suites with the project's verifiers: `python scripts/grade_suite.py SUITE FILE... [--all]`.

Prints the agreement per suite and every disagreement, so that a change of a verifier is judged on real text. The files
are the user's; none is part of this repository. A folder stands for the files of the suite's kind in it. The exit code
is 1 if a response is graded right that the suite calls wrong.

- math-verify, its tests (`*.py`): the tuples `(gold, response, expected)` in the code whose response has one formula
- mmlu-pro, published outputs (`*.json`, `*.jsonl`): `model_outputs` or `response` (text), `pred` (a letter, or null)
- logic-rl (`*.jsonl`): `names` and `solution` (true: knight) or `gold`; `response`; `right` (true or false)
- reasoning-gym (`*.jsonl`): an entry with `answer` and `metadata`, perhaps graded: `response` and `score` (0 to 1)
- pairs (`*.jsonl`): `gold`, `response` (put into a box if it has none), `right`; `verifier`: math, knights or choice

The source distribution of math-verify has its tests (`pip download --no-deps --no-binary :all: math-verify`). The only
formula of a gold answer or response is put into a box; what has several is left out, and so is a pair that the suite
expects to be both right and wrong, under two options. Of MMLU-Pro what is compared is the letter that is read, where
the suite read one. An entry of reasoning-gym without a response stands for two: its gold answer, and a wrong one.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dataflex_rl.rewards.boxed import last_boxes
from dataflex_rl.rewards.choice import read_choice
from dataflex_rl.rewards.dispatch import VERIFIERS
from dataflex_rl.rewards.knights import gold_text

_FORMULA = re.compile(
    r"\$\$(?P<a>.+?)\$\$|\\\[(?P<b>.+?)\\\]|\\\((?P<c>[^\n]+?)\\\)|(?<![\\$])\$(?P<d>(?:[^$\\\n]|\\.)+?)\$(?!\$)", re.S
)
_SENTENCE = re.compile(r"[A-Za-z]{2,}\W+[A-Za-z]{2,}|\$|\n|.{60}")
_SHORT = 300  # characters of a text whose only formula is its answer
_KNIGHTS = ("knights_knaves",)
_MATH = ("chain_sum", "products", "simple_equations", "leg_counting", "gsm_symbolic", "basic_arithmetic", "gcd", "lcm")


class Case(NamedTuple):
    """One response; `right`: what the suite says of it, None where the case is left out, for the reason in `gold`."""

    verifier: str
    gold: str
    response: str
    right: bool | None


def math_verify(path: Path) -> Iterator[Case]:
    """Yield the cases of a file of math-verify's tests."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Tuple) or len(node.elts) < 3:
            continue
        try:
            gold, response, expected, *_ = ast.literal_eval(node)
        except ValueError:  # not a tuple of constants
            continue
        if isinstance(gold, str) and isinstance(response, str) and expected in (0, 1):
            ours, theirs = one_formula(gold), one_formula(response)
            apart = ours is None or theirs is None
            yield Case("math", ours or gold, f"\\boxed{{{theirs}}}", None if apart else bool(expected))


def one_formula(text: str) -> str | None:
    """Return the content of a text's only box, else its only formula, else a short text; None if it has several."""
    boxes = last_boxes(text).contents
    if boxes:
        return boxes[0] if len(boxes) == 1 else None
    formulas = [next(filter(None, found.groups())) for found in _FORMULA.finditer(text)]
    if len(formulas) == 1 and len(text) < _SHORT:
        return formulas[0].strip()
    return None if formulas or "boxed" in text or _SENTENCE.search(text) else text


def mmlu_pro(path: Path) -> Iterator[Case]:
    """Yield the cases of a file of MMLU-Pro outputs: right where the suite read the gold letter."""
    for row in rows(path):
        response, pred = row.get("model_outputs", row.get("response")), row.get("pred")
        if isinstance(response, str) and isinstance(pred, str):
            yield Case("choice", pred, response, True)


def logic_rl(path: Path) -> Iterator[Case]:
    """Yield graded answers to knights and knaves."""
    for row in rows(path):
        gold = row.get("gold") or gold_text(dict(zip(row["names"], row["solution"], strict=True)))
        yield Case("knights", gold, row["response"], bool(row["right"]))


def reasoning_gym(path: Path) -> Iterator[Case]:
    """Yield entries, with their graded response, or with a right and a wrong one made here."""
    for row in rows(path):
        facts = row.get("metadata", {})
        name = facts.get("source_dataset", "")
        verifier = "knights" if name in _KNIGHTS else "math" if name in _MATH else ""
        if not verifier:
            yield Case("math", name, "", None)
            continue
        gold = str(row["answer"])
        if verifier == "knights":
            gold = gold_text(dict(zip(facts["names"], map(bool, facts["solution"]), strict=True)))
        module = VERIFIERS[verifier]
        if "response" in row:
            yield Case(verifier, gold, row["response"], float(row["score"]) == 1.0)
        else:
            yield Case(verifier, gold, module.state(gold), True)
            yield Case(verifier, gold, module.state(module.wrong(gold)), False)


def pairs(path: Path) -> Iterator[Case]:
    """Yield graded answers of any verifier."""
    for row in rows(path):
        verifier, response = row.get("verifier", "math"), row["response"]
        if verifier == "math" and not last_boxes(response).contents:
            response = f"\\boxed{{{response}}}"
        yield Case(verifier, row["gold"], response, bool(row["right"]))


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON file with a list, or of one with an object per line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        made = json.loads(text)
        return made if isinstance(made, list) else [made]
    return [json.loads(line) for line in text.splitlines() if line.strip()]


SUITES = {  # name -> (cases of a file, endings of its files)
    "math-verify": (math_verify, (".py",)),
    "mmlu-pro": (mmlu_pro, (".json", ".jsonl")),
    "logic-rl": (logic_rl, (".jsonl", ".json")),
    "reasoning-gym": (reasoning_gym, (".jsonl", ".json")),
    "pairs": (pairs, (".jsonl", ".json")),
}


def main(argv: list[str]) -> int:
    """Grade the files and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--all", action="store_true", help="print what was left out as well")
    given = parser.parse_args(argv)
    read, endings = SUITES[given.suite]
    files = [file for path in given.files for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    missing = [file for file in files if not file.is_file() and file in given.files]
    if missing:
        parser.error(f"no file {missing[0]}")
    counts = {"agreed": 0, "right here, wrong there": 0, "wrong here, right there": 0, "left out": 0}
    for case in one_verdict(case for file in files if file.suffix in endings for case in read(file)):
        verdict, pred = judged(case, given.suite)
        counts[verdict] += 1
        if verdict != "agreed" and (verdict != "left out" or given.all):
            print(f"{verdict}: gold {case.gold[:100]!r}, answer {(pred or case.response[-100:])[:100]!r}")
    graded = sum(counts.values()) - counts["left out"]
    print(f"{given.suite}: {counts['agreed']} of {graded} agreed; " + ", ".join(f"{n} {k}" for k, n in counts.items()))
    return 1 if counts["right here, wrong there"] else 0


def one_verdict(cases: Iterable[Case]) -> list[Case]:
    """Return each case once; one that is right and wrong is left out."""
    verdicts: dict[tuple[str, str, str], set[bool | None]] = {}
    for case in cases:
        verdicts.setdefault(case[:3], set()).add(case.right)
    return [Case(*key, right.pop() if len(right) == 1 else None) for key, right in verdicts.items()]


def judged(case: Case, suite: str) -> tuple[str, str]:
    """Return (how the grade here compares with the suite's, what was read as the answer)."""
    if case.right is None:
        return "left out", ""
    if suite == "mmlu-pro":
        pred = read_choice(case.response)
        right = pred == case.gold
        return ("agreed" if right else "right here, wrong there" if pred else "wrong here, right there"), pred
    result = VERIFIERS[case.verifier].compute_score(suite, case.response, case.gold)
    right, pred = result["score"] == 1.0, str(result["pred"])
    if right == case.right:
        return "agreed", pred
    return "right here, wrong there" if right else "wrong here, right there", pred


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
