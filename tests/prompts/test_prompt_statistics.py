"""What is remembered of prompts and buckets, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dataflex_rl.prompts import BetaThompson, GresoSkip, PromptStats
from dataflex_rl.prompts.statistics import Groups, Memory
from tests.prompts.pools import seen, table


def test_statistics_of_visits() -> None:
    # prompt 0: 3 of 4, then 1 of 4 with decay 1/2: hit 3 -> 1.5 + 1 = 2.5, miss 1 -> .5 + 3 = 3.5
    stats, _ = seen(table(2), [(0, 3, 4), (0, 1, 4)], BetaThompson())
    assert (stats.tries_P.tolist(), stats.solved_P.tolist()) == ([8, 0], [4, 0])
    assert (stats.hit_P.tolist(), stats.miss_P.tolist()) == ([2.5, 0.0], [3.5, 0.0])
    assert (stats.visits_P.tolist(), stats.last_step_P.tolist()) == ([2, 0], [2, 0])
    assert stats.rate_P[0] == 0.25
    assert math.isnan(stats.rate_P[1])


def test_buckets_decay_per_step() -> None:
    # steps 1 and 3: 4 solved of 5, two steps later worth .9^2 = .81 each: hit 3.24 + 1, miss .81 + 4
    pool = table(2)
    stats = PromptStats(pool, Memory(bucket_decay=0.9))
    for step, row, solved in ((1, 0, 4), (3, 1, 1)):
        prompt_G, tries_G, solved_G = pool.prompt_R[[row]], np.array([5]), np.array([solved])
        stats.add(Groups(step=step, prompt_G=prompt_G, tries_G=tries_G, solved_G=solved_G, reward_G=solved_G / 5))
    assert stats.hit_K.tolist() == pytest.approx([4.24])
    assert stats.miss_K.tolist() == pytest.approx([4.81])
    assert (stats.tries_K.tolist(), stats.solved_K.tolist()) == ([10], [5])
    assert stats.domain_rate_D().tolist() == pytest.approx([5.24 / 11.05])  # (4.24 + 1) / (9.05 + 2)


def test_streaks_count_visits_of_one_class() -> None:
    visits = [(0, 5, 5), (0, 5, 5), (1, 0, 5), (2, 5, 5), (2, 0, 5), (3, 5, 5), (3, 3, 5)]
    stats, _ = seen(table(5), visits, GresoSkip())
    assert stats.streak_P.tolist() == [2, -1, -1, 0, 0]  # easy twice; hard; easy, then hard; easy, then mixed; never


def test_a_group_without_a_response_changes_nothing() -> None:
    stats, _ = seen(table(1), [(0, 3, 4)], BetaThompson())
    before = stats.state_dict()
    none = np.zeros(1, np.int64)
    stats.add(Groups(step=2, prompt_G=none, tries_G=none, solved_G=none, reward_G=np.array([np.nan])))
    after = stats.state_dict()
    assert all(bool((before[name] == after[name]).all()) for name in ("tries_P", "visits_P", "hit_P", "last_step_P"))
