"""Law 4 on verl's own actor loss: what a selection does to the gradient.

With one mini-batch, ratio 1 (no clipping active), and no KL or entropy term: `normalize: kept` gives the gradient of
training on the kept half alone; `normalize: none`, the study's rule, gives that times the kept share of the unit the
loss averages over (tokens for token-mean, responses for sequence means).
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import TensorDict
from torch import Tensor

from dataflex_rl.components.batch import Batch
from dataflex_rl.policy import HostFacts, Policy

VOCABULARY, GROUPS, PER_GROUP = 11, 6, 4


def jagged(rows: list[Tensor]) -> Tensor:
    """Return rows of unequal length as verl stores them."""
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


class Actor(torch.nn.Module):
    """The smallest model with a gradient per token: the next token's logits from the last token."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(VOCABULARY, VOCABULARY, generator=generator, dtype=torch.float64))

    def log_probs(self, sequence: Tensor) -> Tensor:
        """Return log p(next token) for each position; 0 at the last, which predicts nothing."""
        logits = self.table[sequence[:-1]].log_softmax(-1)
        picked = logits.gather(-1, sequence[1:, None]).squeeze(-1)
        return torch.cat([picked, picked.new_zeros(1)])


@pytest.fixture(scope="module")
def actor_config() -> Any:
    """verl's actor configuration as the suite composes it."""
    from hydra import compose, initialize_config_dir
    from verl.utils.config import omega_conf_to_dataclass

    from dataflex_rl.config.paths import shipped

    with initialize_config_dir(str(shipped("conf")), version_base="1.3"):
        return compose("run").actor_rollout_ref.actor, omega_conf_to_dataclass


class Case:
    """A batch of prompts and responses with half of its groups solved in the band of difffilter."""

    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        size = GROUPS * PER_GROUP
        lengths = torch.randint(1, 9, (size,), generator=generator).tolist()
        self.prompts = [torch.randint(0, VOCABULARY, (3,), generator=generator) for _ in range(size)]
        self.responses = [torch.randint(0, VOCABULARY, (n,), generator=generator) for n in lengths]
        # groups 0, 2, 4 have 2 of 4 right and are kept; 1, 3, 5 have all or none
        self.reward = torch.tensor([1.0, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1])
        self.kept = torch.tensor([group % 2 == 0 for group in range(GROUPS) for _ in range(PER_GROUP)])
        self.advantage = torch.randn(size, generator=generator, dtype=torch.float64)
        self.actor = Actor(generator)

    def weights(self, normalize: str, loss_agg_mode: str) -> Tensor:
        """Return difffilter's weights per token."""
        policy = Policy.from_config(
            {"scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter", "normalize": normalize}}
        )
        policy.check(
            HostFacts(
                adv_estimator="grpo",
                rollout_n=PER_GROUP,
                fields=frozenset({"rm_scores", "response_mask", "uid", "advantages"}),
                loss_agg_mode=loss_agg_mode,
            )
        )
        lengths = torch.tensor([len(row) for row in self.responses])
        offset_B1 = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
        batch = Batch(
            offset_B1=offset_B1,
            response_mask_N=torch.ones(int(offset_B1[-1]), dtype=torch.int64),
            uid=[f"u{i // PER_GROUP}" for i in range(len(lengths))],
            prompt_key=[f"p{i // PER_GROUP}" for i in range(len(lengths))],
            rollout_index_B=torch.arange(len(lengths)) % PER_GROUP,
            is_padding_B=torch.zeros(len(lengths), dtype=torch.bool),
            reward_B=self.reward,
            advantage_N=self.advantage.repeat_interleave(lengths).float(),
        )
        decision = policy.apply(batch, step=1)
        assert decision.keep_B is not None
        assert torch.equal(decision.keep_B, self.kept)
        return decision.weight_N.double()

    def gradient(self, config: Any, rows: Tensor, weight_N: Tensor | None) -> Tensor:
        """Return the gradient of verl's `ppo_loss` on some rows, with or without weights."""
        from verl.utils import tensordict_utils as tu
        from verl.workers.utils.losses import ppo_loss

        index = rows.nonzero().flatten().tolist()
        sequences = [torch.cat([self.prompts[i], self.responses[i]]) for i in index]
        log_probs = [self.actor.log_probs(sequence) for sequence in sequences]
        lengths = [len(self.responses[i]) for i in index]
        old = [row.detach()[len(row) - n - 1 : len(row) - 1] for row, n in zip(log_probs, lengths, strict=True)]
        fields = {
            "prompts": jagged([self.prompts[i] for i in index]),
            "responses": jagged([self.responses[i] for i in index]),
            "response_mask": jagged([torch.ones(n, dtype=torch.int64) for n in lengths]),
            "old_log_probs": jagged(old),
            "advantages": jagged([self.advantage[i].expand(n).clone() for i, n in zip(index, lengths, strict=True)]),
        }
        if weight_N is not None:
            fields["rollout_is_weights"] = jagged(list(weight_N.split([len(row) for row in self.responses])))
        data = TensorDict(fields, batch_size=len(index))
        tu.assign_non_tensor(data, dp_size=1, batch_num_tokens=sum(lengths), global_batch_size=len(index))
        self.actor.zero_grad()
        ends = torch.tensor([len(sequence) for sequence in sequences]).cumsum(0)
        nested = torch.nested.nested_tensor_from_jagged(torch.cat(log_probs), torch.cat([ends.new_zeros(1), ends]))
        loss, _ = ppo_loss(config, {"log_probs": nested}, data)
        loss.backward()
        assert self.actor.table.grad is not None
        return self.actor.table.grad.clone()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean"])
def test_selection_on_verls_loss(actor_config: Any, mode: str, seed: int) -> None:
    composed, to_dataclass = actor_config
    config = to_dataclass({**composed, "loss_agg_mode": mode})
    case = Case(seed)
    everything = torch.ones_like(case.kept)
    alone = case.gradient(config, case.kept, None)
    tokens = torch.tensor([len(row) for row in case.responses])
    share = tokens[case.kept].sum() / tokens.sum() if mode == "token-mean" else case.kept.double().mean()
    kept = case.gradient(config, everything, case.weights("kept", mode))
    plain = case.gradient(config, everything, case.weights("none", mode))
    assert alone.abs().max() > 1e-3
    torch.testing.assert_close(kept, alone, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(plain, alone * share, rtol=1e-6, atol=1e-9)


def test_uniform_weights_change_no_bit(actor_config: Any) -> None:
    """Law 3 on the loss: weight 1 everywhere is the unweighted gradient, bit for bit."""
    composed, to_dataclass = actor_config
    config = to_dataclass(composed)
    case = Case(9)
    everything = torch.ones_like(case.kept)
    ones = torch.ones(sum(len(row) for row in case.responses), dtype=torch.float64)
    assert torch.equal(case.gradient(config, everything, ones), case.gradient(config, everything, None))
