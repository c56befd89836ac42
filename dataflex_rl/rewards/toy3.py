"""The verifier of the task `toy3`, in verl's compute_score signature.

verl loads it by file and name: `reward.custom_reward_function.path` and `.name=compute_score`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflex_rl.rewards.answer import need_text

_SPECIALS = ("</s>", "<pad>")


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **_: Any,
) -> dict[str, float | str]:
    """Grade one response: score and acc are 1.0 if it is exactly the expected answer, else 0.0.

    End-of-sequence and padding markers at the end are dropped; anything else, a space included, counts as text.
    The keys are the same for every response: score, acc, pred (the text that was compared).
    A response of any content gets a grade; an empty one is wrong.

    Raises:
        ConfigError: the response or the gold answer is no text.
    """
    need_text("toy3", solution_str, ground_truth)
    pred = _without_specials(solution_str)
    score = 1.0 if pred and pred == ground_truth else 0.0
    return {"score": score, "acc": score, "pred": pred}


def _without_specials(text: str) -> str:
    end = len(text)
    while True:
        tail = next((mark for mark in _SPECIALS if text.endswith(mark, 0, end)), None)
        if tail is None:
            return text[:end]
        end -= len(tail)
