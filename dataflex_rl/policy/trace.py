"""One row per response: what the policy saw and did."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dataflex_rl.components.batch import Batch


def trace_rows(
    batch: Batch, step: int, score_B: Tensor | None, mean_B: Tensor, kept_B: Tensor, reason: list[str], acted: bool
) -> list[dict[str, Any]]:
    """Rows of the real responses, in batch order, of plain JSON values.

    `score` and `weight` are means over the tokens for token-granular policies; `score` is null for uniform. `reason` is
    "" for a kept response. `acted` is false in shadow mode and during the warm-up: the row then tells what would be.
    """
    score = [None] * batch.size if score_B is None else score_B.tolist()
    rows = []
    columns = zip(batch.real_B.tolist(), batch.outcome_B.tolist(), mean_B.tolist(), kept_B.tolist(), strict=True)
    index_B = batch.rollout_index_B.tolist()
    for row, (real, reward, weight, kept) in enumerate(columns):
        if not real:
            continue
        rows.append(
            {
                "step": step,
                "prompt_key": batch.prompt_key[row],
                "uid": batch.uid[row],
                "rollout_index": index_B[row],
                "domain": None if batch.domain is None else batch.domain[row],
                "reward": reward,
                "score": score[row],
                "weight": weight,
                "kept": kept,
                "reason": reason[row],
                "acted": acted,
            }
        )
    return rows
