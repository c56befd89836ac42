"""verl's synchronous trainer, ended by what it has generated: `stop_at.tokens`."""

from __future__ import annotations

from typing import Any

from omegaconf import OmegaConf
from transfer_queue import KVBatchMeta
from verl.utils.debug import marked_timer

from dataflex_rl.host.cpu.native import SyncOnAnyDevice


class EndsEarly(SyncOnAnyDevice):
    """The step in which the generated tokens reach `stop_at.tokens` is the last one, with checkpoint and evaluation.

    verl decides before a step whether it is the last; what it then leaves out is made up for here.
    """

    total_training_steps: int
    _tokens = 0  # generated so far, over all steps
    _known = False  # that the step under way is the last one, before it began

    def on_step_begin(self) -> None:
        """Note whether verl takes this step for the last one."""
        super().on_step_begin()
        self._known = self.global_steps >= self.total_training_steps

    def _generated(self, tokens: float) -> bool:
        """Count the tokens of a step; whether it is the last one because of them."""
        self._tokens += round(tokens)
        limit = OmegaConf.select(self.config, "stop_at.tokens")
        if limit is None or self._tokens < limit or self.global_steps >= self.total_training_steps:
            return False
        self.total_training_steps = self.global_steps
        return True

    def _left_out(self, every: int) -> bool:
        """Whether this step turned out to be the last one, and verl does not do for it what it does every so often."""
        ends = not self._known and self.global_steps >= self.total_training_steps
        return ends and every > 0 and self.global_steps % every != 0

    def on_step_end(self) -> None:
        """Save the last step before new weights go to the rollout, as verl does."""
        if self._left_out(self.config.trainer.save_freq):
            with marked_timer("save_checkpoint", self.timing_raw, color="green"):
                self._save_checkpoint()
        super().on_step_end()

    def _compute_metrics(self, batch: KVBatchMeta, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        if self._left_out(self.config.trainer.test_freq):
            with marked_timer("testing", self.timing_raw, color="green"):
                self.on_validate_begin()
                found = self._validate()
                self.on_validate_end()
            metrics.update(found)
        super()._compute_metrics(batch, metrics, *args, **kwargs)
