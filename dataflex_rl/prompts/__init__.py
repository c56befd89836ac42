"""Prompt selectors: which prompts of a domain are generated next. Pure functions of statistics, before the rollout.

- none           every prompt once per pass, the control of the others
- beta_thompson  near a target solve rate, drawn from the prompt's Beta posterior (MoPPS); or inside a band
- greso_skip     skip by chance what was solved by all or none on its last visits (GRESO)
- learnability   in proportion to p(1 - p)
- no_resample    solved prompts leave the pool (ScaleRL)
- curriculum     by a column of difficulties: a target that follows the reward (AdaRFT), or a schedule (E2H)
- order          sorted by a column, or domain by domain
- hierarchical   a prompt's prior is its bucket's rate, the bucket's its domain's: predicts prompts never drawn

Around them, without any host:

- interface    what a selector is, what it sees and what it answers
- table        the prompts as arrays; statistics: their outcomes so far
- predictions  Brier score and calibration of predicted solve rates
- conformance  does a selector differ from uniform at all

How choices become the prompts of a batch is `dataflex_rl.feed`.

Shape suffixes besides the package's: R dataset rows, C candidates of a draw, G groups of a step, K buckets, L levels of
a difficulty or bins of a table.
"""

from dataflex_rl.prompts.beta_thompson import BetaThompson
from dataflex_rl.prompts.curriculum import Curriculum
from dataflex_rl.prompts.greso_skip import GresoSkip
from dataflex_rl.prompts.hierarchical import Hierarchical
from dataflex_rl.prompts.interface import Candidates, Choice, PromptSelector
from dataflex_rl.prompts.learnability import Learnability
from dataflex_rl.prompts.no_resample import NoResample
from dataflex_rl.prompts.none import Uniform
from dataflex_rl.prompts.order import Order
from dataflex_rl.prompts.predictions import brier, calibration
from dataflex_rl.prompts.statistics import Groups, Memory, PromptStats
from dataflex_rl.prompts.table import PromptTable

__all__ = [
    "BetaThompson",
    "Candidates",
    "Choice",
    "Curriculum",
    "GresoSkip",
    "Groups",
    "Hierarchical",
    "Learnability",
    "Memory",
    "NoResample",
    "Order",
    "PromptSelector",
    "PromptStats",
    "PromptTable",
    "Uniform",
    "brier",
    "calibration",
]
