"""How many responses each prompt gets, under a fixed total. Pure functions."""

from __future__ import annotations

import numpy as np

from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts.table import FloatArray, IntArray


def group_value(n: int, rate_P: FloatArray) -> FloatArray:
    """float64 [P]: value of n responses to a prompt of solve rate p: [1 - p^n - (1-p)^n] p (1-p)^2; 0 of none.

    The bracket is the probability of a mixed group. From one response on, each further one adds less than the last.

    Source: arXiv 2509.25849.
    """
    if n == 0:
        return np.zeros(len(rate_P))
    mixed_P: FloatArray = 1 - rate_P**n - (1 - rate_P) ** n
    return mixed_P * rate_P * (1 - rate_P) ** 2


def knapsack(rate_P: FloatArray, total: int, *, n_min: int, n_max: int) -> IntArray:
    """int64 [P], of sum `total`: responses per prompt, each in n_min..n_max, of the largest summed value.

    Exact: with n_min of 1 or more the value is concave and the largest gains are taken, equal gains to the prompt with
    fewer responses, then to the earlier; with n_min 0 by dynamic programming, since the first response alone gains
    nothing.

    Raises:
        ConfigError: a rate outside 0..1, n_min above n_max, or a total that the bounds do not reach.
    """
    rate_P = np.asarray(rate_P, dtype=np.float64)
    _check(rate_P, total, n_min, n_max)
    if n_min == 0:
        return _by_programming(rate_P, total, n_max)
    value_NP = np.stack([group_value(n, rate_P) for n in range(n_min, n_max + 1)])
    gain_NP = np.diff(value_NP, axis=0)
    best = np.argsort(-gain_NP.reshape(-1), kind="stable")[: total - n_min * len(rate_P)]
    more_P = np.bincount(best % len(rate_P), minlength=len(rate_P))
    return n_min + more_P.astype(np.int64)


def two_phase(solved_P: IntArray, *, n_init: int, n_continue: int) -> IntArray:
    """int64 [P]: further responses of prompts that were screened with n_init each, `solved_P` of them solved.

    n_continue where the outcomes are mixed, else 0. Screened responses count as generated and are trained on, so a
    group has n_init or n_init + n_continue responses.

    Source: arXiv 2506.09016 (SPEED-RL).

    Raises:
        ConfigError: fewer than two responses screened (one is never mixed), n_continue below 1, or more solved than
            screened.
    """
    if n_init < 2:
        raise ConfigError(f"two_phase: n_init={n_init}; expected at least 2 responses, one alone is never mixed")
    if n_continue < 1:
        raise ConfigError(f"two_phase: n_continue={n_continue}; expected at least 1 response")
    solved_P = np.asarray(solved_P, dtype=np.int64)
    if ((solved_P < 0) | (solved_P > n_init)).any():
        raise ConfigError(
            f"two_phase: expected 0 to n_init={n_init} solved responses of each prompt, got {solved_P.tolist()}"
        )
    return np.where((solved_P > 0) & (solved_P < n_init), n_continue, 0)


def _by_programming(rate_P: FloatArray, total: int, n_max: int) -> IntArray:
    """Best responses per prompt by the best value of each prefix of prompts and each total spent on it."""
    best_T = np.full(total + 1, -np.inf)
    best_T[0] = 0.0
    taken_PT = np.zeros((len(rate_P), total + 1), dtype=np.int64)
    for prompt in range(len(rate_P)):
        new_T = np.full(total + 1, -np.inf)
        for n in range(min(n_max, total) + 1):
            reached_T = best_T[: total + 1 - n] + group_value(n, rate_P[prompt : prompt + 1])[0]
            better_T = reached_T > new_T[n:]
            new_T[n:][better_T] = reached_T[better_T]
            taken_PT[prompt, n:][better_T] = n
        best_T = new_T
    out_P, left = np.zeros(len(rate_P), dtype=np.int64), total
    for prompt in reversed(range(len(rate_P))):
        out_P[prompt] = taken_PT[prompt, left]
        left -= int(out_P[prompt])
    return out_P


def _check(rate_P: FloatArray, total: int, n_min: int, n_max: int) -> None:
    if not len(rate_P) or not ((rate_P >= 0) & (rate_P <= 1)).all():
        raise ConfigError(f"knapsack: expected solve rates between 0 and 1, one per prompt, got {rate_P.tolist()}")
    if not 0 <= n_min <= n_max:
        raise ConfigError(f"knapsack: n_min={n_min}; expected at least 0 and at most n_max={n_max} responses")
    low, high = n_min * len(rate_P), n_max * len(rate_P)
    if not low <= total <= high:
        raise ConfigError(
            f"knapsack: a budget of {total} responses for {len(rate_P)} prompts; expected {low} to {high} "
            f"(n_min={n_min}, n_max={n_max} each)"
        )
