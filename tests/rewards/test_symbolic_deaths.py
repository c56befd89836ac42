"""The process that compares formulas: one budget per grade, death, a failed start; no failure is remembered."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator

import psutil
import pytest

from dataflex_rl.rewards import math, math_judge, symbolic
from dataflex_rl.rewards.symbolic import Budget, Comparer

# modest in its letters, but not in its time
HARD = "\\int x^{x+7}dx"


@pytest.fixture
def comparer() -> Iterator[Comparer]:
    made = Comparer()
    yield made
    made.close()


@pytest.fixture
def graded(comparer: Comparer, monkeypatch: pytest.MonkeyPatch) -> Comparer:
    """Grade with a worker of this test's own."""
    monkeypatch.setattr(math_judge, "comparer", lambda: comparer)
    return comparer


def workers() -> list[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    alive = [one for one in children if one.status() != psutil.STATUS_ZOMBIE]
    return [one for one in alive if any("symbolic_worker" in word for word in one.cmdline())]


def used() -> float:
    times = [one.cpu_times() for one in workers()]
    return sum(one.user + one.system + one.children_user + one.children_system for one in times)


def test_a_list_of_hard_items_has_the_budget_of_one_grade(graded: Comparer) -> None:
    assert math.compute_score("any", "\\boxed{x+x}", "2x")["score"] == 1.0
    before = used()
    golds, preds = (", ".join(f"\\int x^{{x+{n}}}dx" for n in range(first, first + 20)) for first in (10, 30))
    assert max(len(golds), len(preds)) <= symbolic.MAX_FORMULA
    start = time.perf_counter()
    assert math.compute_score("any", f"\\boxed{{{preds}}}", golds)["score"] == 0.0
    assert used() - before <= 4.0
    assert time.perf_counter() - start > 1.0, "they were not hard"


def test_what_reached_its_limit_costs_no_second_start(comparer: Comparer) -> None:
    assert comparer.equal("x+x", "2x")
    budget = Budget(0.5)
    assert not comparer.equal(HARD, "x", budget)
    assert budget.left == 0.0
    assert not comparer.equal("x+x", "2x", budget), "the budget was spent"
    before = used()
    assert comparer.equal("x+x", "2x")
    assert used() - before < 0.5  # loading sympy takes seconds


def test_a_limit_is_not_remembered(comparer: Comparer) -> None:
    assert not comparer.equal("2^{1009}", "2\\cdot 2^{1008}", Budget(0.0))
    assert comparer.equal("2^{1009}", "2\\cdot 2^{1008}")
    assert not comparer.equal(HARD, "x+1", Budget(0.3))
    before = used()
    assert not comparer.equal(HARD, "x+1", Budget(0.3))
    assert used() - before > 0.2


def test_killed_workers_cost_no_grade(graded: Comparer) -> None:
    right = 0
    for number in range(120):
        if number % 20 == 10:
            for victim in workers()[-1:] if number % 40 == 10 else workers():  # the copy that answers; both
                victim.kill()
        response = f"\\boxed{{(x+{number})^2}}"
        right += math.compute_score("any", response, f"x^2+{2 * number}x+{number * number}")["score"] == 1.0
    assert right == 120


def test_a_worker_killed_over_a_question_is_asked_again(comparer: Comparer) -> None:
    assert comparer.equal("x+x", "2x")
    killer = threading.Timer(0.3, lambda: workers()[-1].kill())
    killer.start()
    budget = Budget(1.0)
    start = time.perf_counter()
    assert not comparer.equal(HARD, "x", budget)
    assert time.perf_counter() - start > 1.2, "0.3 s until it was killed, then the whole second"
    killer.join()
    assert comparer.equal("x+x", "2x")


def test_a_worker_that_does_not_start_grades_wrong_with_the_reason(
    graded: Comparer, caplog: pytest.LogCaptureFixture
) -> None:
    command, graded._command = graded._command, ["false"]
    with caplog.at_level(logging.WARNING, logger=symbolic.__name__):
        result = math.compute_score("any", "\\boxed{x+x}", "2x")
    assert result == {"score": 0.0, "acc": 0.0, "pred": "x+x"}
    assert "it does not start: false" in caplog.text
    graded._command = command
    assert math.compute_score("any", "\\boxed{x+x}", "2x")["score"] == 1.0


def test_a_worker_that_starts_at_the_second_time_is_enough(graded: Comparer, tmp_path: object) -> None:
    marker = f"{tmp_path}/tried"
    worker = " ".join(graded._command)
    graded._command = ["sh", "-c", f"test -e {marker} && exec {worker}; touch {marker}; exit 1"]
    assert math.compute_score("any", "\\boxed{x+x}", "2x")["score"] == 1.0
    assert os.path.exists(marker)
