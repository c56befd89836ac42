"""Actuators: what a score does to a response. Pure functions on plain tensors.

Selectors keep or drop responses (weight 1 or 0; a dropped response has already cost its generation):

- difffilter  keeps the groups whose score lies strictly inside a band
- maxvar      keeps the part of each group with the largest variance
- gfpo        keeps the k most efficient (or the shortest) responses of each group
- topk        keeps the best part of the batch

Reweighters give every response or token a weight, brought to mean 1 afterwards:

- ar          less weight on improbable tokens
- per         a power of the priority
- softmax     the exponential of the score
- diffband    a bonus inside the middle quantiles
"""

from dataflex_rl.actuators.ar import AR, ar_N
from dataflex_rl.actuators.diffband import DiffBand, diffband_B
from dataflex_rl.actuators.difffilter import DiffFilter, difffilter_B
from dataflex_rl.actuators.gfpo import GFPO, gfpo_B
from dataflex_rl.actuators.maxvar import MaxVar, maxvar_B
from dataflex_rl.actuators.per import PER, per_B
from dataflex_rl.actuators.softmax import Softmax, softmax_B
from dataflex_rl.actuators.topk import TopK, topk_B

__all__ = [
    "AR",
    "GFPO",
    "PER",
    "DiffBand",
    "DiffFilter",
    "MaxVar",
    "Softmax",
    "TopK",
    "ar_N",
    "diffband_B",
    "difffilter_B",
    "gfpo_B",
    "maxvar_B",
    "per_B",
    "softmax_B",
    "topk_B",
]
