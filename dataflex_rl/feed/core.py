"""The mixer of a run: what it has seen, its shares, and when they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.config import MixerConfig
from dataflex_rl.mixers.statistics import Tally, Window

_SLACK = 1e-9


class DomainMixer:
    """Shares over `domains`, updated from the tallies of finished steps.

    `share_D` (float64) holds for the next prompts; `value_D` is what the mixer measured after the last step, zeros
    before the first.

    Raises:
        ConfigError: the mixer's options do not fit the domains or the window.
    """

    def __init__(self, config: MixerConfig, domains: Sequence[str]) -> None:
        config.mixer.check(domains, config.window)
        self.config = config
        self.domains = tuple(domains)
        self._window = Window(self.domains, config.window)
        self.share_D = self._checked(config.mixer.start_D(self.domains), "shares")
        self.value_D = torch.zeros(len(self.domains), dtype=torch.float64)

    def observe(self, step: int, tally: Tally) -> None:
        """Take in a finished step (they count from 1) and update the shares where it is time."""
        self._window.add(step, tally)
        stats = self._window.stats
        self.value_D = self._checked(self.config.mixer.measure_D(stats), "values")
        if self.config.updates_after(step):
            self.share_D = self._checked(self.config.mixer.share_D(self.value_D, stats), "shares")

    def named(self, value_D: Sequence[float]) -> dict[str, float]:
        """Return one number per domain by name."""
        return dict(zip(self.domains, value_D, strict=True))

    def state_dict(self) -> dict[str, Any]:
        """Return everything the next shares depend on, as plain data."""
        return {
            "mixer": self.config.name,
            "statistic": self.config.statistic,
            "domains": list(self.domains),
            "window_steps": self.config.window,
            "shares": self.share_D.tolist(),
            "values": self.value_D.tolist(),
            "window": self._window.state_dict(),
            "component": self._component(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state.

        Raises:
            ConfigError: it is of another mixer, statistic, window, or of other domains.
        """
        here = self.state_dict()
        for key, what in (("mixer", "mixer"), ("statistic", "statistic"), ("domains", "domains"),
                          ("window_steps", "window [steps]")):  # fmt: skip
            if state.get(key) != here[key]:
                raise ConfigError(f"the saved state has {what} {state.get(key)!r}, but this run has {here[key]!r}")
        if (state["component"] is None) == self.config.spec.stateful:
            raise ConfigError(f"mixer {self.config.name!r}: the saved state does not fit its component")
        self.share_D = torch.tensor(state["shares"], dtype=torch.float64)
        self.value_D = torch.tensor(state["values"], dtype=torch.float64)
        self._window.load_state_dict(state["window"])
        if self.config.spec.stateful:
            self.config.mixer.load_state_dict(state["component"])  # type: ignore[attr-defined]

    def _component(self) -> Any:
        if not self.config.spec.stateful:
            return None
        state = self.config.mixer.state_dict()  # type: ignore[attr-defined]
        if not state:
            raise ConfigError(f"mixer {self.config.name!r} is declared stateful, but its state_dict() is empty")
        return state

    def _checked(self, out_D: Tensor, what: str) -> Tensor:
        """Hold a component to its contract: length, no NaN; shares at least 0 and of sum 1."""
        name = f"mixer {self.config.name!r} gave {what}"
        if out_D.shape != (len(self.domains),):
            raise ConfigError(f"{name} of shape {tuple(out_D.shape)}, expected ({len(self.domains)},)")
        if not bool(torch.isfinite(out_D).all()):
            raise ConfigError(f"{name} with a NaN or Inf: {out_D.tolist()}")
        if what == "shares" and (float(out_D.min()) < 0 or abs(float(out_D.sum()) - 1) > _SLACK):
            raise ConfigError(f"{name} {out_D.tolist()}, expected shares of at least 0 and of sum 1")
        return out_D.double()
