"""What every verifier returns."""

from __future__ import annotations

Result = dict[str, float | str]
MAX_PRED = 300  # characters of an answer that are kept for the record


def grade(correct: bool, pred: str) -> Result:
    """Return the result of a response: score and acc 1.0 or 0.0, and the answer that was read ("" if none)."""
    score = 1.0 if correct else 0.0
    return {"score": score, "acc": score, "pred": pred[:MAX_PRED]}
