"""Mount, checks and metrics of a data policy: from a configuration block and a batch to weights.

- config    the block of the configuration, checked
- split     a block as other systems write it, brought to ours; the mixer's part taken out
- checks    what the host must provide, once, before anything starts
- link      one scorer with one actuator
- scaling   raw weights to mean 1, with a cap
- core      `Policy`: links in order, warm-up, shadow, empty batches
- metrics   what is logged per step
- trace     one row per response
"""

from dataflex_rl.policy.checks import GROUP_ESTIMATORS, HostFacts
from dataflex_rl.policy.config import PolicyConfig, parse
from dataflex_rl.policy.core import Policy
from dataflex_rl.policy.decision import Decision
from dataflex_rl.policy.split import split_block

__all__ = ["GROUP_ESTIMATORS", "Decision", "HostFacts", "Policy", "PolicyConfig", "parse", "split_block"]
