"""The verifier of mathematics: the last boxed answer against the gold one.

Equal as text in one notation, or as exact numbers, or symbolically (with math-verify's grammar, in a bounded process).
A box is read as a whole or not at all; a unit is what the gold answer or the box writes as one, and two must agree. The
verifier is not given the prompt, so a letter that the prompt alone makes a unit is an unknown here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflex_rl.rewards.answer import Result, grade, need_text
from dataflex_rl.rewards.boxed import last_box, last_boxes
from dataflex_rl.rewards.math_judge import Judge, is_equal
from dataflex_rl.rewards.math_text import as_number, normalize

__all__ = ["BRIEF", "EXAMPLE", "INSTRUCTION", "as_number", "compute_score", "is_equal", "normalize", "state", "wrong"]

INSTRUCTION = "Reason step by step and put the final answer within \\boxed{}."
BRIEF = "Reply with the final answer only, within \\boxed{}."
EXAMPLE = ("What is 4 + 3?", "\\boxed{7}")  # a question and its brief answer


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    *,
    round_to_gold: bool = False,
    **_: Any,
) -> Result:
    """Grade one response by its last box; without one, or with one that is never closed, it states no answer.

    The gold answer is LaTeX without a box. Where it is a list, the boxes that end the response may give it together. A
    unit or a percent sign that only one side has does not count (_same_number says where a percent sign does). All
    comparisons of a grade share one budget of CPU time; what exceeds it is wrong.

    round_to_gold: a constant that rounds to a decimal gold answer, at the digits that it shows, is right (set by
        `reward.custom_reward_function.reward_kwargs`).

    Raises:
        ConfigError: the response or the gold answer is no text.
    """
    need_text("math", solution_str, ground_truth)
    box = last_box(solution_str)
    if box is None or not box.content:
        return grade(False, "")
    judge = Judge(round_to_gold=round_to_gold)
    together = last_boxes(solution_str)
    if len(together.contents) > 1 and judge.are_equal(ground_truth, together.contents):
        return grade(True, ", ".join(together.contents))
    if together.alternatives:
        return grade(False, ", ".join(together.contents))
    return grade(judge.is_equal(ground_truth, box.content), box.content)


def state(gold: str) -> str:
    """Return a response that states an answer."""
    return f"So the final answer is \\boxed{{{gold}}}."


def wrong(gold: str) -> str:
    """Return an answer that is none."""
    return "271828" if gold.strip() != "271828" else "314159"
