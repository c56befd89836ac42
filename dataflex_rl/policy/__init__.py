"""Mount, checks and metrics of a data policy: from a configuration block and a batch to weights.

- config    the block of the configuration, checked
- split     a block as other systems write it, brought to ours; the mixer's part taken out
- checks    what the host must provide, once, before anything starts
- link      one scorer with one actuator
- scaling   raw weights to mean 1, with a cap
- core      `Policy`: links in order, warm-up, shadow, empty batches
- summary   the weights of a batch, per response
- metrics   what is logged per step
- trace     one row per response

The weights act where verl multiplies `rollout_is_weights`: on the policy loss, before it is aggregated. verl applies no
weight to its KL and entropy terms, so a dropped response still takes part in those. Under `normalize: none` the loss's
denominator still counts what was dropped: selecting a part of the batch then gives that part's own gradient times its
share (of tokens for token-mean, of responses for sequence-mean aggregation; logged as grad_scale). `normalize: kept`
takes the share out again, exactly for one mini-batch per step; under several it is the batch's share, and only
approximate within each.
"""

from dataflex_rl.policy.checks import GROUP_ESTIMATORS, HostFacts
from dataflex_rl.policy.config import PolicyConfig, parse
from dataflex_rl.policy.core import Policy
from dataflex_rl.policy.decision import Decision
from dataflex_rl.policy.split import split_block

__all__ = ["GROUP_ESTIMATORS", "Decision", "HostFacts", "Policy", "PolicyConfig", "parse", "split_block"]
