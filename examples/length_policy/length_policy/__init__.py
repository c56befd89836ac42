"""A third party's data policy: one scorer (`brevity`) and one selector (`keep_above`)."""

from length_policy.brevity import Brevity, brevity_B
from length_policy.keep_above import KeepAbove

__all__ = ["Brevity", "KeepAbove", "brevity_B"]
