"""Data policies on a batch you can read: `python examples/tutorial.py` (3 seconds, no verl, no ray, no GPU).

You will see which of ten responses each method keeps or how strongly it counts them, what a chain does, and that the
mean reward of what is trained on (reward_effective) is not the model's own (reward_all): under difffilter .40 and .60.
"""

from __future__ import annotations

from typing import Any

from dataflex_rl import apply_policy

# Two prompts with five responses each: p is solved by 2 of 5, q by 4 of 5.
LENGTH = [2, 4, 3, 1, 2, 2, 1, 5, 3, 4]
ADVANTAGE = [1.1, -0.7, -0.7, 1.1, -0.7, 0.4, 0.4, 0.4, 0.4, -1.8]
SIGNALS: dict[str, Any] = {
    "uid": ["p"] * 5 + ["q"] * 5,
    "domain": ["math"] * 5 + ["logic"] * 5,
    "reward": [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0],
    # one number per token; the lengths of the responses follow from it
    "advantages": [[value] * length for value, length in zip(ADVANTAGE, LENGTH, strict=True)],
    "old_log_probs": [[-0.2 * (token + 1) for token in range(length)] for length in LENGTH],
}
CHAIN = {
    "chain": [
        {"scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter"}},
        {"scorer": {"name": "advantage_magnitude"}, "actuator": {"name": "per"}},
    ]
}


def show(title: str, config: dict[str, Any]) -> None:
    """Print one line: the weight of each response's first token, then three metrics."""
    result = apply_policy(config, SIGNALS)
    first = " ".join(f"{float(weight[0]):4.2f}" for weight in result.weights)
    metrics = {key.removeprefix("dataflex/"): value for key, value in result.metrics.items()}
    print(f"{title:16s} {first}  {metrics['kept_frac']:5.2f} {metrics['ess']:5.2f} {metrics['reward_effective']:5.2f}")


def main() -> None:
    """Show every method, a looser band, a chain, and what a misspelt parameter does."""
    print(f"{'prompt':16s} {'    '.join(SIGNALS['uid'])}      kept   ess  reward_effective")
    for method in ("uniform", "difffilter", "maxvar", "gfpo", "topk", "ar", "per", "softmax", "diffband"):
        show(method, {"method": method})
    show("difffilter (0,1)", {"method": "difffilter", "actuator": {"params": {"low": 0.0, "high": 1.0}}})
    show("difffilter, per", CHAIN)
    try:
        apply_policy({"method": "difffilter", "actuator": {"params": {"lo": 0.1}}}, SIGNALS)
    except ValueError as error:
        print(f"a misspelt parameter: {error}")


if __name__ == "__main__":
    main()
