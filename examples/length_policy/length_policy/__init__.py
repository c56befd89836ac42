"""A third party's data policy: a scorer (`brevity`), a selector (`keep_above`), a prompt selector (`hardest_first`)."""

from length_policy.brevity import Brevity, brevity_B
from length_policy.hardest_first import HardestFirst
from length_policy.keep_above import KeepAbove

__all__ = ["Brevity", "HardestFirst", "KeepAbove", "brevity_B"]
