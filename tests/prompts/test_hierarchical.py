"""The hierarchical rule against numbers worked out by hand from its formulas."""

from __future__ import annotations

import numpy as np
import pytest

from dataflex_rl.prompts import Hierarchical
from dataflex_rl.prompts.hierarchical import MOST, bucket_rate_K, concentration
from tests.prompts.pools import candidates, seen, table

RNG = np.random.default_rng


@pytest.mark.parametrize(
    ("deviation", "children", "responses", "kappa"),
    [
        (0.0, 0.0, 0.0, 10.0),  # nothing seen: the start
        (1.0, 1.0, 4.0, 12.0625),  # (1 - 1 + 16/11) / (4 - 1 + 16) = .0765550; 1 / .0765550 - 1
        (41.0, 1.0, 4.0, 0.5),  # spread beyond what any Beta has: the least
        (0.0, 400.0, 2000.0, MOST),  # no spread beyond sampling at all
    ],
)
def test_concentration_by_moments(deviation: float, children: float, responses: float, kappa: float) -> None:
    assert concentration(deviation, children, responses, 10.0) == pytest.approx(kappa, rel=1e-4)


@pytest.mark.parametrize("kappa", [2.0, 8.0, 30.0])
def test_concentration_is_found_again(kappa: float) -> None:
    rng = RNG(1)
    rate_G = rng.beta(kappa * 0.3, kappa * 0.7, 200_000)
    solved_G = rng.binomial(5, rate_G)
    deviation = ((solved_G - 5 * 0.3) ** 2 / 5 / 0.21).sum()
    assert concentration(float(deviation), 2e5, 1e6, 10.0) == pytest.approx(kappa, rel=0.1)


def test_a_prompt_never_drawn_has_its_buckets_rate() -> None:
    # one group, 3 of 4. run (3 + 1) / (4 + 2) = 2/3. domain: spread (3 - 8/3)^2 / 4 / (2/9) = .125 over no degree of
    # freedom, kappa 1 / ((.125 + 16/11) / (4 + 16)) - 1 = 11.66187, rate (11.66187 x 2/3 + 3) / 15.66187 = .687947.
    # bucket: spread (3 - 2.751788)^2 / 4 / (.687947 x .312053) = .071747, kappa 12.10372, rate .703366.
    rule, pool = Hierarchical(), table(2)
    stats, state = seen(pool, [(0, 3, 4)], rule)
    assert bucket_rate_K(stats, 10.0).tolist() == pytest.approx([0.703366], abs=1e-5)
    # the prompts' kappa: the group was .5 expected, (3 - 2)^2 / 4 / .25 = 1: 12.0625, as above
    assert rule.kappa(state) == pytest.approx(12.0625)
    rate_C = rule.rate_C(candidates(stats, [0, 1], state))
    assert rate_C.tolist() == pytest.approx([(12.0625 * 0.703366 + 3) / 16.0625, 0.703366], abs=1e-5)


def test_a_bucket_with_data_speaks_for_itself() -> None:
    pool = table(4, domains=["a", "a", "b", "b"])
    stats, state = seen(pool, [(0, 50, 100), (2, 5, 100)], Hierarchical(bucket_decay=1.0))
    rate_C = Hierarchical(bucket_decay=1.0).rate_C(candidates(stats, [1, 3], state))
    assert rate_C.tolist() == pytest.approx([0.5, 0.05], abs=0.02)
