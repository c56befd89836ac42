"""Training prompts that a benchmark also has."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dataflex_rl.tasks.items import Item
from dataflex_rl.tasks.overlap import Index, Overlap, remove_overlap, words

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
