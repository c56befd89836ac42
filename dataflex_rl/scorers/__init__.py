"""Scorers: what a response, its prompt or a token is worth looking at for. Pure functions on jagged tensors.

- reward               outcome of each response
- advantage_magnitude  how far from the expectation, abs(advantage) over the tokens of each response
- group_solve          share of the prompt's responses that solved it
- token_prob           probability with which each token was sampled
"""

from dataflex_rl.scorers.advantage_magnitude import AdvantageMagnitude, advantage_magnitude_B
from dataflex_rl.scorers.group_solve import GroupSolve, group_solve_B
from dataflex_rl.scorers.reward import Reward
from dataflex_rl.scorers.token_prob import TokenProb, token_prob_N

__all__ = [
    "AdvantageMagnitude",
    "GroupSolve",
    "Reward",
    "TokenProb",
    "advantage_magnitude_B",
    "group_solve_B",
    "token_prob_N",
]
