"""A step that generates in rounds: screened, continued, backfilled; and resumed in the middle of any of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.backfill import Backfill, Batch, Group
from dataflex_rl.feed.blocks import FeedConfig, parse_feed, take_feed
from dataflex_rl.feed.budget_config import Knapsack, TwoPhase, parse_budget, take_block
from dataflex_rl.feed.rounds import Continue, Draw, Result, Rounds

TOKENS = 4  # of a response


def result(uid: str, solved: int, tries: int, domain: int = 0) -> Result:
    return Result(
        uid=uid, domain=domain, tokens=TOKENS * tries, tries=tries, solved=solved, reward=solved / max(tries, 1),
        signal=0 < solved < tries,
    )  # fmt: skip


Answers = Callable[[str, int], int]  # (uid, tries) -> solved


def play(rounds: Rounds, solved: Answers, first: int, at: int = 0) -> tuple[Batch, list[Any], int]:
    """Play a step to its end: uids count up; returns (batch, orders, prompts drawn)."""
    orders: list[Any] = []
    while (order := rounds.order()) is not None:
        orders.append(order)
        assert len(orders) < 50, "never ends"
        if isinstance(order, Continue):
            rounds.add([result(uid, solved(uid, order.first + order.n), order.first + order.n) for uid in order.uids])
        else:
            names = [f"g{at + i}" for i in range(sum(order.count_D))]
            at += len(names)
            rounds.add([result(uid, solved(uid, first), first) for uid in names])
    return rounds.finish(), orders, at


def test_two_phases_continue_what_is_mixed_and_train_on_all() -> None:
    screened = {"g0": 0, "g1": 1, "g2": 2, "g3": 1}  # of 2
    rounds = Rounds([4], n=5, screening=TwoPhase())
    batch, orders, _ = play(rounds, lambda uid, tries: screened[uid] if tries == 2 else 3, first=2)
    assert orders == [Draw(count_D=(4,)), Continue(uids=("g1", "g3"), n=3, first=2)]
    # groups with signal first, then the constant ones; 2 x 5 + 2 x 2 responses of 4 tokens
    assert [group.uid for group in batch.train] == ["g1", "g3", "g0", "g2"]
    assert [rounds.results[uid].tries for uid in ("g0", "g1", "g2", "g3")] == [2, 5, 2, 5]
    assert (rounds.tokens, rounds.screened_tokens, batch.dropped, batch.carry) == (56, 32, (), ())
    assert not batch.skip_update


def test_a_screened_prompt_of_which_a_response_failed_is_not_continued() -> None:
    rounds = Rounds([2], n=5, screening=TwoPhase(n_init=3, n_continue=1))
    assert rounds.order() == Draw(count_D=(2,))
    rounds.add([result("a", 1, 2), result("b", 1, 3)])
    assert rounds.order() == Continue(uids=("b",), n=1, first=3)


def test_screened_constant_groups_are_backfilled() -> None:
    """Of 4 prompts two are mixed; of the 2 that replace the others one; of the next 1 none: 3 rounds, then short."""
    mixed = {"g0", "g3", "g5"}
    rounds = Rounds([4], n=5, screening=TwoPhase(), options=Backfill(max_rounds=2, max_tokens_factor=9))
    batch, orders, drawn = play(rounds, lambda uid, tries: 1 if uid in mixed else 0, first=2)
    assert orders == [
        Draw(count_D=(4,)), Continue(uids=("g0", "g3"), n=3, first=2),
        Draw(count_D=(2,)), Continue(uids=("g5",), n=3, first=2),
        Draw(count_D=(1,)),
    ]  # fmt: skip
    assert (drawn, batch.ended, batch.missing_D) == (7, "max_rounds", (1,))
    assert [group.uid for group in batch.train] == ["g0", "g3", "g5"]
    assert [group.uid for group in batch.dropped] == ["g1", "g2", "g4", "g6"]
    # a plain batch is 4 x 5 responses of 4 tokens, whatever the phases made of it
    assert rounds.state.plain_tokens == 80.0
    assert rounds.tokens == 4 * (3 * 5 + 4 * 2)


def test_tokens_are_bounded_in_plain_batches() -> None:
    """All constant at 5 responses: the first draw is a plain batch of 4, and a factor of 1.5 leaves room for 2 more."""
    rounds = Rounds([4], n=5, options=Backfill(max_rounds=9, max_tokens_factor=1.5))
    batch, orders, _ = play(rounds, lambda uid, tries: 0, first=5)
    assert orders == [Draw(count_D=(4,)), Draw(count_D=(2,))]
    assert (batch.ended, batch.train, batch.skip_update, rounds.tokens) == ("max_tokens", (), True, 120)


def test_what_is_carried_is_drawn_less_and_leaves_something_to_draw() -> None:
    carried = [Group(uid="old", domain=0, tokens=20, signal=True)]
    rounds = Rounds([2, 1], n=5, options=Backfill(), carried=carried)
    assert rounds.order() == Draw(count_D=(1, 1))
    rounds.add([result("a", 1, 5), result("b", 1, 5, domain=1)])
    assert rounds.order() is None
    assert [(group.uid, group.age) for group in rounds.finish().train] == [("old", 1), ("a", 0), ("b", 0)]
    assert rounds.tokens == 40  # the old one's were counted a step ago
    full = Rounds([2], n=5, options=Backfill(max_rounds=0, on_short="skip_update"))
    full.order()
    full.add([result("a", 1, 5), result("b", 0, 5)])
    assert [group.uid for group in full.finish().carry] == ["a"]
    many = Rounds([2], n=5, options=Backfill())
    many.order()
    many.add([result(uid, 1, 5) for uid in "abcdef"])  # as a domain that runs dry leaves to another
    assert [group.uid for group in many.finish().carry] == ["c"]
    assert [group.uid for group in many.finish().dropped] == ["d", "e", "f"]


def test_a_pool_that_runs_dry_ends_the_step() -> None:
    rounds = Rounds([4], n=5, options=Backfill())
    rounds.order()
    rounds.add([result("a", 1, 5), result("b", 0, 5)], exhausted=True)
    assert rounds.order() is None
    assert (rounds.finish().ended, rounds.finish().missing_D) == ("no_prompts", (3,))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), stop=st.integers(0, 12), screens=st.booleans())
def test_resuming_between_any_two_orders_changes_nothing(seed: int, stop: int, screens: bool) -> None:
    rng = np.random.default_rng(seed)
    share = {f"g{i}": float(rate) for i, rate in enumerate(rng.random(200))}

    def solved(uid: str, tries: int) -> int:
        return round(share[uid] * tries)

    def made() -> Rounds:
        return Rounds([3, 2], n=5, screening=TwoPhase() if screens else None, options=Backfill(max_tokens_factor=3))

    def advance(rounds: Rounds, at: int, steps: int | None) -> int:
        while steps != 0 and (order := rounds.order()) is not None:
            if isinstance(order, Continue):
                tries = order.first + order.n
                rounds.add([result(u, solved(u, tries), tries, rounds.results[u].domain) for u in order.uids])
            else:
                domains = [d for d, count in enumerate(order.count_D) for _ in range(count)]
                first = 2 if screens else 5
                rounds.add([result(f"g{at + i}", solved(f"g{at + i}", first), first, d) for i, d in enumerate(domains)])
                at += len(domains)
            steps = None if steps is None else steps - 1
        return at

    whole, part = made(), made()
    advance(whole, 0, None)
    at = advance(part, 0, stop)
    resumed = made()
    resumed.load_state_dict(json.loads(json.dumps(part.state_dict())))
    assert resumed.order() == part.order()
    advance(resumed, at, None)
    assert resumed.finish() == whole.finish()
    assert resumed.tokens == whole.tokens


# ---------------------------------------------------------------- the configuration


def configured(block: Mapping[str, Any]) -> FeedConfig:
    return parse_feed(take_feed(block)[1])


def checked(block: Mapping[str, Any], *, n: int = 5, batch: int = 16, makes_groups: bool = True) -> FeedConfig:
    config = configured(block)
    config.check_groups(n=n, batch=batch, makes_groups=makes_groups)
    return config


RATES = {"prompts": {"name": "beta_thompson"}}


def test_responses_of_a_batch_by_rates() -> None:
    """Values at rate .5: 2: .0625, 3: .09375, 4: .109375, ...; at rate 0 or 1 nothing is gained."""
    found = Knapsack().first([0.5, 0.0, 1.0, 0.5], n=4, batch=4)
    assert found == [6, 2, 2, 6]
    assert Knapsack(n_max=5).first([0.5, 0.0, 1.0, 0.5], n=4, batch=4) == [5, 3, 3, 5]
    assert Knapsack(total=12).first([0.5, 0.0, 1.0, 0.5], n=4, batch=4) == [4, 2, 2, 4]
    assert sum(Knapsack().first([0.3] * 3, n=5, batch=16)) == 15  # part of a batch: its share of the total
    assert TwoPhase(n_init=3).first([0.5, 0.0], n=5, batch=16) == [3, 3]
    assert TwoPhase().more(5) == 3


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"budget": {"name": "knapsack", "n_min": 6}}, r"n_min=6 is above actor_rollout_ref\.rollout\.n=5: the 80"),
        ({"budget": {"name": "knapsack", "n_min": 1}}, "n_min=1: expected at least 2, a response alone has no others"),
        ({"budget": {"name": "knapsack", "total": 15}}, "total=15 is below one response per prompt: a batch has 16"),
        ({"budget": {"name": "knapsack", "total": 81}}, r"total=81 responses for 16 prompts; expected 32 .* to 80"),
        ({"budget": {"name": "knapsack", "n_max": 4}}, r"total=80 responses for 16 prompts; expected 32 .* to 64"),
        ({"budget": {"name": "knapsack", "n_init": 3}}, "budget.n_init belongs to two_phase, but .* is knapsack"),
        ({"budget": {"name": "two_phase", "n_max": 3}}, "budget.n_max belongs to knapsack, but .* is two_phase"),
        (
            {"budget": {"name": "two_phase", "n_init": 1}},
            "n_init=1 and n_continue=4; expected at least 2",
        ),
        ({"budget": {"name": "two_phase", "n_init": 5}}, "n_init=5 and n_continue=0; expected"),
        ({"budget": {"name": "two_phase", "n_continue": 4}}, r"together at most actor_rollout_ref\.rollout\.n=5"),
        ({"budget": {"name": "best"}}, "dataflex.budget.name must be one of none, knapsack, two_phase, got 'best'"),
        ({"budget": {"size": 1}}, "dataflex.budget has no key 'size'; known: name, n_min"),
        ({"budget": 3}, "dataflex.budget must be a mapping, got 3"),
        ({"backfill": {"on_short": "wait"}}, "on_short must be one of train_short, fill_constant, skip_update"),
        ({"backfill": {"max_rounds": -1}}, "dataflex.backfill.max_rounds must be an integer >= 0, got -1"),
        ({"backfill": {"enabled": True, "max_tokens_factor": 0.5}}, r"max_tokens_factor must be a number >= 1"),
        ({"backfill": {"enabled": True}, "mixer": {"name": "static", "oversample": 1.5}}, "both generate beyond"),
        ({"prompts": {"name": "order"}, "budget": {"name": "knapsack"}}, "selector 'order' predicts none; use"),
        ({"prompts": {"name": "none"}, "budget": {"name": "knapsack"}}, "selector 'none' predicts none; use"),
    ],
)
def test_refused_in_one_line(block: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        checked({**RATES, **block})
    assert "\n" not in str(caught.value)


def test_budgets_and_backfill_compare_the_responses_of_a_prompt() -> None:
    for block, what in (
        ({"budget": {"name": "two_phase"}}, "budget 'two_phase'"),
        ({"backfill": {"enabled": True}}, "backfill"),
    ):
        with pytest.raises(ConfigError, match=f"{what} needs an advantage estimator that compares"):
            checked(block, makes_groups=False)
        with pytest.raises(ConfigError, match=f"shadow=true acts as uniform, but {what} would act"):
            configured(block).check_host(shadow=True, steps_of_batch=1)


def test_without_a_selector_prompts_come_in_their_order() -> None:
    config = checked({"budget": {"name": "two_phase"}})
    assert config.prompts is not None
    assert (config.prompts.name, config.acts, config.gathers) == ("none", "budget 'two_phase'", True)
    plain = configured({})
    assert (plain.prompts, plain.budget, plain.backfill, plain.acts) == (None, None, None, None)
    knapsack = checked({**RATES, "budget": {"name": "knapsack"}})
    assert (knapsack.gathers, knapsack.acts) == (False, "prompt selector 'beta_thompson'")
    assert parse_budget(take_block({}, "budget")) is None
