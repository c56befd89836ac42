"""Training prompts that a benchmark also has."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflex_rl.data.tasks.items import Item
from dataflex_rl.data.tasks.options import with_options
from dataflex_rl.data.tasks.overlap import Index, Overlap, keys, remove_overlap, words

PUZZLE = "A very special island is inhabited only by knights and knaves, who lie. You meet {}. {} said that {} lies."


def item(question: str, source: str = "gsm8k") -> Item:
    return Item(source=source, domain="math", item_id=question, question=question, gold="1")


def removed(items: list[Item], benchmarks: list[Item]) -> Overlap:
    return remove_overlap(items, Index.of(benchmarks))


def numbered(first: int, count: int) -> str:
    return " ".join(f"w{i}" for i in range(first, first + count))


def test_a_question_that_a_benchmark_has_is_removed_whatever_its_case_and_spaces() -> None:
    result = removed([item("What is  2 + 2?"), item("What is 2 - 2?")], [item("what is 2 + 2?", "math500")])
    assert [kept.question for kept in result.kept] == ["What is 2 - 2?"]
    assert (result.exact, result.ngram) == (1, 0)


def test_thirteen_words_in_a_row_are_too_many_and_twelve_are_not() -> None:
    bench = [item(numbered(0, 40), "math500")]
    same13, same12 = f"x {numbered(20, 13)} y", f"x {numbered(20, 12)} y"
    result = removed([item(same13), item(same12)], bench)
    assert [kept.question for kept in result.kept] == [same12]
    assert (result.exact, result.ngram) == (0, 1)


def test_punctuation_does_not_hide_an_overlap() -> None:
    bench = [item(numbered(0, 20), "math500")]
    assert removed([item(", ".join(numbered(0, 14).split()))], bench).ngram == 1


def test_what_many_questions_of_a_benchmark_share_is_wording() -> None:
    people = ["Ann", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ivy", "Jo"]
    bench = [item(PUZZLE.format(name, name, other), "kk_hard") for name, other in pairwise(people[:9])]
    train = [item(PUZZLE.format("Ivy", "Jo", "Ivy")), item(PUZZLE.format("Ann", "Ann", "Bo"))]
    result = removed(train, bench)
    assert [kept.question for kept in result.kept] == [train[0].question]
    assert result.exact == 1


def test_without_benchmarks_everything_stays() -> None:
    assert removed([item("a")], []).kept == [item("a")]


def test_words_are_letters_and_digits_in_lower_case() -> None:
    assert words("Don't_stop: 3.5 Zoë's!") == ("don", "t", "stop", "3", "5", "zoë", "s")


@given(
    st.lists(st.text(alphabet="abc ", max_size=60), max_size=8),
    st.lists(st.text(alphabet="abc ", max_size=60), max_size=8),
)
def test_kept_and_removed_add_up_and_nothing_kept_is_in_a_benchmark(train: list[str], bench: list[str]) -> None:
    result = removed([item(text) for text in train], [item(text, "math500") for text in bench])
    assert len(result.kept) + result.exact + result.ngram == len(train)
    assert not {" ".join(kept.question.split()) for kept in result.kept} & {" ".join(text.split()) for text in bench}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"An angle of $60^{\circ}$", r"An angle of $60^\circ$."),
        (r"An angle of $60^{\circ}$", "an angle of 60°"),
        (r"Solve \(x^{2} = 4\).", "Solve $x^2=4$"),
        (r"Find \[\dfrac{1}{2} + \frac34.\]", r"Find $$\frac12+\tfrac{3}{4}$$"),
        (r"Is $a \leq b$?", r"Is \(a\le b\)?"),
        (r"$\left( 1,\, 2 \right)$", "(1, 2)"),
        (r"How many cm in $2\text{ m}$?", "How many cm in 2 m"),
        ("She said “5 − 3”, 1,000 times", 'She said "5 - 3", 1000 times'),
    ],
)
def test_notation_does_not_hide_an_overlap(one: str, other: str) -> None:
    assert removed([item(one)], [item(other, "math500")]).exact == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 5 - 3?", "What is 5 + 3?"),
        ("What is 3.5?", "What is 35?"),
        ("What is 5!?", "What is 5?"),
        (r"Find $x^{12}$", "Find $x^12$"),
        (r"Find $\frac{1}{23}$", r"Find $\frac{12}{3}$"),
        ("Find $x_{1}$", "Find $x^{1}$"),
        (r"Is $a \le b$?", r"Is $a \ge b$?"),
    ],
)
def test_another_formula_is_another_question(one: str, other: str) -> None:
    assert removed([item(one)], [item(other, "math500")]).exact == 0


def choice(question: str, right: str, *wrong: str, key: str = "t") -> Item:
    lettered, gold = with_options(question, right, wrong, key=key)
    return Item(source="sciq", domain="science", item_id=key, question=lettered, gold=gold)


UNIT = ("What is the unit of resistance?", "ohm", "volt", "watt", "ampere")


def test_the_order_of_options_and_a_distractor_do_not_hide_an_overlap() -> None:
    assert len({choice(*UNIT, key=str(i)).question for i in range(20)}) > 5
    for i in range(20):
        assert removed([choice(*UNIT, key=f"t{i}")], [choice(*UNIT, key=f"b{i}")]).exact == 1
    assert removed([choice("What is the unit of resistance", "Ohm", "joule", "mole")], [choice(*UNIT)]).exact == 1


def test_the_same_words_with_other_answers_are_another_question() -> None:
    ask = "Which of these is a metal?"
    assert removed([choice(ask, "iron", "oxygen", "neon")], [choice(ask, "gold", "oxygen", "neon")]).exact == 0
    labelled = choice(ask, "iron", "gold", "neon"), choice(ask, "gold", "iron", "neon")
    assert removed([labelled[0]], [labelled[1]]).exact == 1  # the same options, one of the labels is wrong


def test_a_list_that_is_no_options_counts_as_text() -> None:
    (key,) = keys(item("Prove one.\n(A) $x = 1$\n(B) $x = 2$"))
    assert key == "prove one ( a ) x = 1 ( b ) x = 2"
