"""Per-item results of verl's validation, read from the queue before verl clears it."""

from __future__ import annotations

from typing import Any

import transfer_queue as tq
from transfer_queue import KVBatchMeta

from dataflex_rl.feed.identity import TrajectoryKey, identify

_FIELDS = ["raw_prompt", "index", "data_source", "reward_model", "rm_scores", "extra_fields", "extra_info"]


def read_items(batch: KVBatchMeta, *, domain_column: str | None, response_length: int) -> list[dict[str, Any]]:
    """Return one record per finished response: benchmark, domain, item, correct, pred, gold, tokens, truncated.

    The item is `extra_info.item_id`, else `extra_info.index`; a benchmark's items must differ in it. Where a prompt is
    answered n > 1 times, item `k/i` is answer i. Correct means `acc` above one half, `acc` being what the reward
    function returned.

    Args:
        batch: trajectories of partition "val".
        domain_column: the dataset's domain column; None: the benchmark is its own domain.
        response_length: most tokens of a response, to tell a truncated one where the server does not say; a smaller
            `extra_info.max_new_tokens` goes before it.
    """
    keys = _last_outputs([TrajectoryKey.parse(key) for key in batch.keys])
    names = [f"{key.uid}_{key.session}_{key.output}" for key in keys]
    tags = dict(zip(batch.keys, batch.tags, strict=True))
    fields = _FIELDS + ([domain_column] if domain_column else [])
    data = tq.kv_batch_get(keys=names, partition_id=batch.partition_id, select_fields=fields)
    rows = {name: list(data[name]) for name in fields if name != "rm_scores"}
    scores = data["rm_scores"].sum(dim=1).tolist()
    sessions = max(key.session for key in keys) + 1
    items = []
    for i, key in enumerate(keys):
        extra = dict(rows["extra_fields"][i])
        info = dict(extra.get("reward_extra_info") or {})
        about = dict(rows["extra_info"][i] or {})
        length = int(tags[names[i]]["response_len"])
        limit = min(int(about.get("max_new_tokens") or response_length), response_length)
        benchmark = str(rows["data_source"][i])
        items.append(
            {
                "benchmark": benchmark,
                "domain": str(rows[domain_column][i]) if domain_column else benchmark,
                "item": str(about.get("item_id") or int(rows["index"][i]))
                + (f"/{key.session}" if sessions > 1 else ""),
                "correct": bool(float(info.get("acc", scores[i])) > 0.5),
                "pred": None if info.get("pred") is None else str(info["pred"]),
                "gold": str(dict(rows["reward_model"][i]).get("ground_truth")),
                "tokens": length,
                "truncated": extra.get("finish", "length" if length >= limit else "stop") == "length",
                "prompt": identify(key.uid, list(rows["raw_prompt"][i])).key,
            }
        )
    return items


def _last_outputs(keys: list[TrajectoryKey]) -> list[TrajectoryKey]:
    """Keep the last output of each session (agent loops of several turns have several), in the batch's order."""
    last: dict[tuple[str, int], TrajectoryKey] = {}
    for key in keys:
        kept = last.get((key.uid, key.session))
        if kept is None or key.output > kept.output:
            last[key.uid, key.session] = key
    return list(last.values())
