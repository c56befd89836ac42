"""dataflex_rl: which data should an RLVR model learn from, and how strongly?

Legend of the shape suffixes used in every module: B responses in the batch, P prompts, G responses per prompt, N real
and masked response tokens of a jagged batch laid end to end (offsets in `offset_B1`, B + 1 entries), D domains.
A name without a suffix is a scalar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflex_rl.api import PolicyResult, apply_policy
    from dataflex_rl.feed.replay import replay_mixer
    from dataflex_rl.feed.replay_prompts import replay_prompts

__version__ = "0.1.0"
__all__ = ["PolicyResult", "__version__", "apply_policy", "replay_mixer", "replay_prompts"]

# public name -> the module that has it, imported on first use: importing the package must stay cheap
_LAZY = {
    "apply_policy": "dataflex_rl.api",
    "PolicyResult": "dataflex_rl.api",
    "replay_mixer": "dataflex_rl.feed.replay",
    "replay_prompts": "dataflex_rl.feed.replay_prompts",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
