"""Wrong mutants of gold answers, of the fixtures and the generators: none is accepted."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflex_rl.data.tasks.generated import entries
from dataflex_rl.data.tasks.latex import fits_box, says_something, without_dollars
from dataflex_rl.rewards import choice, knights, math

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
DATA = Path(__file__).parents[1] / "data"
NUMBER = re.compile(r"\d+")
# generators whose gold answer is a value or a formula -> golds of each
GENERATORS = {
    "chain_sum": 300, "products": 300, "simple_equations": 300, "leg_counting": 200, "gsm_symbolic": 200,
    "basic_arithmetic": 300, "decimal_chain_sum": 200, "decimal_arithmetic": 200, "fraction_simplification": 200,
    "gcd": 200, "lcm": 200, "polynomial_equations": 200, "polynomial_multiplication": 300,
    "simple_integration": 200, "complex_arithmetic": 300, "prime_factorization": 200, "bitwise_arithmetic": 100,
    "simple_geometry": 100, "number_sequence": 200, "base_conversion": 100,
}  # fmt: skip
FORMULAS = [  # with {a}, {b}, {c} different numbers from 2 to 97
    "\\frac{{{a}}}{{{b}}}", "{a}\\sqrt{{{b}}}", "({a},{b})", "[{a},{b})", "{a}x+{b}", "x^2-{a}x+{b}", "y={a}x+{b}",
    "{a}\\pi", "\\{{{a},{b},{c}\\}}", "{a},{b}", "\\frac{{{a}\\pi}}{{{b}}}", "{a}+{b}i", "x<{a}",
    "(-\\infty,{a})\\cup({b},\\infty)", "{a}^{{{b}}}", "\\sqrt{{{a}}}+\\sqrt{{{b}}}",
    "\\begin{{pmatrix}} {a} \\\\ {b} \\end{{pmatrix}}", "{a}\\pm\\sqrt{{{b}}}", "{a}\\%", "{a}\\text{{ cm}}^2",
    "e^{{{a}x}}", "\\log_{{{a}}} {b}", "\\sin({a}x)+{b}", "{a}x^2+{b}y^2={c}", "{a}^\\circ", "{a}!+{b}",
    "m\\frac{{dv}}{{dt}}+{a}v={b}", "y''+{a}y={b}", "\\binom{{{a}}}{{2}}", "2^{{{a}}}-1", "{a}n+{b}m",
    "-{a}<x\\le {b}",
]  # fmt: skip


def public_golds() -> Iterator[str]:
    """Yield the answers of the fixtures of mathematics."""
    for path in sorted([*DATA.glob("*.jsonl"), *(DATA / "benchmarks").glob("*.jsonl")]):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            gold = row.get("answer", row.get("final_answer", row.get("reward_model", {}).get("ground_truth", "")))
            gold = without_dollars(str(gold[0] if isinstance(gold, list) else gold).rpartition("####")[2])
            if fits_box(gold) and says_something(gold) and len(gold) < 60:
                yield gold


def golds() -> list[str]:
    """Return over 4,000 different gold answers."""
    made = list(public_golds())
    for name, size in GENERATORS.items():
        made += [str(entry["answer"]) for entry in itertools.islice(entries(name, seed=7), size)]
    rng = random.Random(7)
    for form in FORMULAS:
        for _ in range(60):
            a, b, c = sorted(rng.sample(range(2, 98), 3))
            made.append(form.format(a=a, b=b, c=c))
    return [gold for gold in dict.fromkeys(made) if NUMBER.search(gold) and fits_box(gold)]


def mutants(gold: str, rng: random.Random) -> Iterator[str]:
    """Yield other answers: a number, sign, bracket or term changed, a second answer, an unknown, an empty equation."""
    place = rng.choice(list(NUMBER.finditer(gold)))
    for other in (int(place[0]) + 1, int(place[0]) * 10 + 3, 10 ** len(place[0]) + int(place[0])):
        yield f"{gold[: place.start()]}{other}{gold[place.end() :]}"
    yield from (
        f"{gold}+1",
        f"{gold}+k",
        f"{gold}\\text{{ or 15}}",
        f"{gold}\\vee 7",
        f"{gold} = {gold}+1",
        f"7, {gold}",
    )
    yield from (
        f"7;{gold}",
        f"{gold}\\text{{ is wrong}}",
        f"not {gold}",
        f"{gold} x",
        f"{gold}q",
        f"\\frac{{7}}{{3}}, {gold}",
    )
    yield from ("a=a+5", "0=0", "x=x", "\\text{yes}", f"{gold}\\approx 7.77", "k\\in\\mathbb{Z}")
    swapped = {"(": "[", "[": "(", "<": ">", "x": "z", "+": "-"}
    for old, new in swapped.items():
        if old in gold and "\\" not in gold[: gold.index(old) + 1][-1:]:
            yield gold.replace(old, new, 1)


def test_no_wrong_mutant_of_an_answer_of_mathematics_is_right() -> None:
    rng = random.Random(3)
    made = golds()
    assert len(made) >= 4000
    accepted = []
    for gold in made:
        assert math.compute_score("any", math.state(gold), gold)["score"] == 1.0, gold
        tried = [mutant for mutant in mutants(gold, rng) if mutant.strip() != gold.strip()]
        for mutant in rng.sample(tried, min(6, len(tried))):
            if math.compute_score("any", f"\\boxed{{{mutant}}}", gold)["score"] == 1.0:
                accepted.append((gold, mutant))
    assert accepted == []


def test_no_wrong_mutant_of_an_answer_of_logic_is_right() -> None:
    accepted = []
    for people, number in ((2, 150), (3, 150), (5, 200)):
        for entry in itertools.islice(entries("knights_knaves", seed=5, n_people=people), number):
            names = list(map(str, entry["metadata"]["names"]))
            roles = dict(zip(names, map(bool, entry["metadata"]["solution"]), strict=True))
            gold = knights.gold_text(roles)
            assert knights.compute_score("any", knights.state(gold), gold)["score"] == 1.0
            first = names[0]
            flipped = knights.gold_text({first: not roles[first]})
            wrong = [
                knights.wrong(gold),
                f"{gold}. {flipped}",
                f"{flipped}. {gold}",
                gold.rpartition(", ")[0],
                f"If {gold}",
            ]
            wrong += [
                f"{gold} or {flipped}",
                gold.replace(f"{first} is", f"{first} might be", 1),
                f"{entry['question']}",
            ]
            accepted += [
                (gold, text)
                for text in wrong
                if knights.compute_score("any", f"Final answer: {text}", gold)["score"] == 1.0
            ]
    assert accepted == []


@pytest.mark.parametrize("letter", "ABCDEFGHIJ")
def test_no_answer_of_two_letters_is_right(letter: str) -> None:
    joins = ["or", "and", "/", ",", "(or", "; possibly", ", maybe", "and/or", "or perhaps", "but also"]
    frames = [
        "The answer is {}.",
        "Answer: {}",
        "\\boxed<>",
        "Final answer: ({}).",
        "So the correct option is {}",
        "<answer>{}</answer>",
    ]
    accepted = []
    for other, join, frame in itertools.product("ABCDEFGHJ", joins, frames):
        if other == letter:
            continue
        both = f"{letter} {join} {other}" + (")" if "(" in join else "")
        response = frame.replace("{}", both).replace("<>", f"{{{both}}}")
        if any(choice.compute_score("any", response, gold)["score"] for gold in (letter, other)):
            accepted.append(response)
    assert accepted == []
