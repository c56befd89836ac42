"""What every verifier returns."""

from __future__ import annotations

from dataflex_rl.errors import ConfigError

Result = dict[str, float | str]
MAX_PRED = 300  # characters of an answer that are kept for the record


def grade(correct: bool, pred: str) -> Result:
    """Return the result of a response: score and acc 1.0 or 0.0, and the answer that was read ("" if none)."""
    score = 1.0 if correct else 0.0
    return {"score": score, "acc": score, "pred": pred[:MAX_PRED]}


def need_text(name: str, solution_str: object, ground_truth: object) -> None:
    """Hold what a verifier is given against what it reads.

    Raises:
        ConfigError: the response or the gold answer is no text.
    """
    for part, value in (("response", solution_str), ("gold answer", ground_truth)):
        if not isinstance(value, str):
            raise ConfigError(f"{name}: {part} {repr(value)[:60]} is of type {type(value).__name__}, expected a text")
