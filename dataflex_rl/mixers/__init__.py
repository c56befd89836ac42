"""Mixers: from which domains the next prompts are drawn. Pure functions from domain statistics to shares.

- static      fixed shares, the control of the others
- reward_gap  more of the domain with the lower mean reward
- dump_ucb    more of the domain with the larger advantages, or with few visits
- tscl        more of the domain whose reward moves

Around them, without any host:

- interface   what a mixer is
- statistics  what a mixer sees: sums and counts per step and domain, in a window
- shares      softmax, and the floor that holds after normalising

How shares become the prompts of a batch is `dataflex_rl.feed`.

Shape suffixes besides the package's: W steps of the window.
"""

from dataflex_rl.mixers.dump_ucb import DumpUCB, dump_ucb_D
from dataflex_rl.mixers.interface import Mixer
from dataflex_rl.mixers.reward_gap import RewardGap, reward_gap_D
from dataflex_rl.mixers.shares import floored_D, softmax_D
from dataflex_rl.mixers.static import Static
from dataflex_rl.mixers.statistics import DomainStats
from dataflex_rl.mixers.tscl import TSCL, change_D

__all__ = [
    "TSCL",
    "DomainStats",
    "DumpUCB",
    "Mixer",
    "RewardGap",
    "Static",
    "change_D",
    "dump_ucb_D",
    "floored_D",
    "reward_gap_D",
    "softmax_D",
]
