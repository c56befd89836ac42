"""The prompts of a run, chosen before they are generated: quotas per domain, then a selector, then the order."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import DomainMap
from dataflex_rl.feed.interface import Drawn, Outcomes
from dataflex_rl.feed.predicted import Predicted
from dataflex_rl.feed.prompt_config import PromptConfig
from dataflex_rl.feed.prompt_quotas import Quotas
from dataflex_rl.feed.streams import DomainStreams
from dataflex_rl.prompts.interface import Candidates, Choice, checked
from dataflex_rl.prompts.statistics import Groups, PromptStats
from dataflex_rl.prompts.table import IntArray, PromptTable
from dataflex_rl.seeding import PROMPT_STREAM, stream_seed

PREFIX = "dataflex/prompts/"
REPEATED = "repeated"  # reason of a row whose prompt is in the batch, has no outcome yet, or is a candidate already


class PromptFeed:
    """A `Feed` that draws by a prompt selector, under a mixer's quotas where there is one.

    Each domain's candidates come in its stream's order, pass by pass, the same for every selector at a seed. When a
    selector leaves fewer than a quota after all prompts of the domain were looked at, those that it skipped are taken
    in the order in which they came (`fallback`). What a domain cannot give, the others do. A prompt that was drawn is
    not drawn again before its outcome is observed or it is released.

    Args:
        config: the selector. table: the prompts. domain_R: domain of each dataset row.
        order: pass number -> dataset rows of that pass, the same for the same number.
        seed: of the run. batch: prompts of a step. steps: of the run, None where unknown.
        mixer, domains: quotas per domain; both or none.

    Raises:
        ConfigError: the selector does not fit the data, or a batch or a quota is larger than what there is.
    """

    def __init__(
        self,
        config: PromptConfig,
        table: PromptTable,
        domain_R: Sequence[str],
        order: Callable[[int], Sequence[int] | IntArray],
        *,
        seed: int,
        batch: int,
        steps: int | None = None,
        mixer: DomainMixer | None = None,
        domains: DomainMap | None = None,
    ) -> None:
        self.config = config
        self.selector = config.selector
        self.selector.check(table, steps)
        self.table = table
        self.stats = PromptStats(table, self.selector.memory)
        self.rule_state = self.selector.start(table)
        self.quotas = Quotas(table, domain_R, batch, mixer, domains)
        self.predicted = Predicted(config.name)
        self._streams = DomainStreams(
            lambda number: self.selector.arrange(np.asarray(order(number), np.int64), table),  # type: ignore[arg-type,return-value]
            self.quotas.domain_R.tolist(),
            self.quotas.names,
        )
        self._seed, self._steps = seed, steps
        self._busy_P = np.zeros(table.size, np.bool_)
        self._draws = 0
        self._counts: Counter[str] = Counter()  # of the step, by metric
        self._milliseconds = 0.0

    def draw(self, n: int, quota_D: Sequence[int] | None = None, *, surplus: int = 0) -> Drawn:
        """Return the next n prompts and `surplus` further ones, no two the same and none that is being generated."""
        began = time.process_time()
        self._draws += 1
        asked_D, surplus_D = self.quotas.next_D(n, surplus) if quota_D is None else (list(quota_D), [0] * len(quota_D))
        assert sum(asked_D) == n
        skipped: Counter[str] = Counter()
        rows_D: list[list[int]] = [[] for _ in asked_D]
        fallback = self._fill(rows_D, [a + b for a, b in zip(asked_D, surplus_D, strict=True)], skipped)
        rows = [row for rows in rows_D for row in rows]
        again = int((self.stats.visits_P[self.table.prompt_R[rows]] > 0).sum())
        short = n + sum(surplus_D) - len(rows)
        self._counts.update({"drawn": len(rows), "again": again, "fallback": fallback, "short": short})
        self._counts.update({f"skipped/{reason}": count for reason, count in skipped.items()})
        self._milliseconds += (time.process_time() - began) * 1e3
        return Drawn(
            rows=rows,
            domain_of=[domain for domain, rows in enumerate(rows_D) for _ in rows],
            quota_D=asked_D,
            share_D=self.quotas.share_D,
            rates=self.expect(rows),
            skipped=dict(skipped),
            fallback=fallback,
            short=short,
        )

    def _fill(self, rows_D: list[list[int]], asked_D: Sequence[int], skipped: Counter[str]) -> int:
        """Fill the quotas, then what is short from the domains furthest below their share; return the fallbacks."""
        fallback = 0
        open_D = list(range(len(asked_D)))
        for domain in open_D:
            fallback += self._take(domain, asked_D[domain], rows_D[domain], skipped)
        while (short := sum(asked_D) - sum(map(len, rows_D))) and open_D:
            share_D = self.quotas.share_D
            domain = max(open_D, key=lambda d: (share_D[d] * sum(asked_D) - len(rows_D[d]), -d))
            before = len(rows_D[domain])
            fallback += self._take(domain, short, rows_D[domain], skipped)
            if len(rows_D[domain]) == before:
                open_D.remove(domain)
        return fallback

    def _take(self, domain: int, quota: int, into: list[int], skipped: Counter[str]) -> int:
        """Append up to `quota` prompts of a domain to `into`; return how many of them the selector had skipped."""
        tour = 2 * len(self.quotas.row_D[domain])  # from anywhere in a pass, so many rows hold every prompt
        aim, seen, round_, window = len(into) + quota, 0, 0, self.selector.window(quota)
        left: list[IntArray] = []
        while len(into) < aim and seen < tour and not self._all_busy(domain):
            need = aim - len(into)
            row_C = self._streams.peek(domain, min(max(window, self.selector.window(need)), tour - seen))
            rng = np.random.default_rng(stream_seed(self._seed, PROMPT_STREAM, self._draws, domain, len(into), round_))
            taken, used, lost = self._choose(domain, row_C, need, rng, skipped)
            self._streams.take(domain, used)
            self._busy_P[self.table.prompt_R[taken]] = True
            into += taken.tolist()
            left.append(lost)
            seen, round_, window = seen + used, round_ + 1, 2 * window
        rest = np.concatenate([np.zeros(0, np.int64), *left])
        rest = rest[self._fresh(self.table.prompt_R[rest])][: aim - len(into)]
        self._busy_P[self.table.prompt_R[rest]] = True
        into += rest.tolist()
        return len(rest)

    def _choose(
        self, domain: int, row_C: IntArray, need: int, rng: np.random.Generator, skipped: Counter[str]
    ) -> tuple[IntArray, int, IntArray]:
        """Ask the selector about the next rows; return (rows taken, rows used, rows used but not taken)."""
        prompt_C = self.table.prompt_R[row_C]
        fresh = np.flatnonzero(self._fresh(prompt_C))
        choice = Choice(take=fresh[:0], used=0, skipped={})
        if len(fresh):
            candidates = self._candidates(prompt_C[fresh], *self.quotas.pool(domain))
            choice = checked(self.config.name, self.selector.choose(candidates, need, rng), len(fresh), need)
        used = len(row_C) if choice.used == len(fresh) else int(fresh[choice.used])
        if busy := used - choice.used:
            skipped[REPEATED] += busy
        skipped.update(choice.skipped)
        lost = np.delete(fresh[: choice.used], choice.take)
        return row_C[fresh[choice.take]], used, row_C[lost]

    def _candidates(self, prompt_C: IntArray, pool: IntArray | None = None, batch: int = 1) -> Candidates:
        return Candidates(
            prompt_C=prompt_C, stats=self.stats, state=self.rule_state, step=self.stats.step + 1, steps=self._steps,
            pool=pool, batch=batch,
        )  # fmt: skip

    def _fresh(self, prompt_C: IntArray) -> Any:
        """bool [C]: not being generated, and the first of its prompt among these."""
        first_C = np.zeros(len(prompt_C), np.bool_)
        first_C[np.unique(prompt_C, return_index=True)[1]] = True
        return first_C & ~self._busy_P[prompt_C]

    def _all_busy(self, domain: int) -> bool:
        """Whether every prompt of a domain is being generated."""
        few = np.count_nonzero(self._busy_P) < self.quotas.size_D[domain]
        return not few and bool(self._busy_P[self.quotas.prompt_D[domain]].all())

    def predict(self, rows: Sequence[int]) -> list[float] | None:
        """Return the predicted solve rate of dataset rows at present; None where the selector predicts none."""
        rate_C = self.selector.rate_C(self._candidates(self.table.prompt_R[list(rows)]))
        return None if rate_C is None else [float(rate) for rate in rate_C]

    def expect(self, rows: Sequence[int]) -> list[float]:
        """Predict prompts that are generated next, and score it when their outcomes are in. `draw` does so itself."""
        rates = self.predict(rows)
        if rates is not None:
            self.predicted.remember(self.table.prompt_R[list(rows)], np.asarray(rates), self.stats)
        return rates or []

    def observe(self, outcomes: Outcomes) -> dict[str, float]:
        """Take in a step's outcomes: predictions are scored, then the rule, the statistics and the mixer move on."""
        began = time.process_time()
        if outcomes.step <= self.stats.step:
            raise ConfigError(f"outcomes of step {outcomes.step} after those of step {self.stats.step}")
        prompt_G = self.table.prompt_R[outcomes.row_G]
        groups = Groups(
            step=outcomes.step, prompt_G=prompt_G, tries_G=outcomes.tries_G, solved_G=outcomes.solved_G,
            reward_G=outcomes.reward_G,
        )  # fmt: skip
        metrics = self.predicted.score(groups)
        self.rule_state = self.selector.observe(self.rule_state, self.stats, groups)
        self.stats.add(groups)
        self._busy_P[prompt_G] = False
        metrics |= self.quotas.observe(outcomes)
        self._milliseconds += (time.process_time() - began) * 1e3
        metrics |= {PREFIX + name: float(count) for name, count in self._counts.items()}
        state = {f"state/{name}": value for name, value in self.rule_state.items() if isinstance(value, float)}
        metrics |= {PREFIX + name: value for name, value in {"cpu_ms": self._milliseconds, **state}.items()}
        self._counts, self._milliseconds = Counter(), 0.0
        return metrics

    def hold(self, rows: Sequence[int]) -> None:
        """Keep prompts from being drawn: their groups wait for the next step."""
        self._busy_P[self.table.prompt_R[list(rows)]] = True

    def release(self, rows: Sequence[int]) -> None:
        """Set prompts free that will have no outcome."""
        self._busy_P[self.table.prompt_R[list(rows)]] = False
        self.predicted.forget(self.table.prompt_R[list(rows)])

    def state_dict(self) -> dict[str, Any]:
        """Return statistics, rule, positions, quotas, prompts being generated, predictions and the step's counts."""
        return {
            "selector": self.config.name,
            "stats": self.stats.state_dict(),
            "rule": dict(self.rule_state),
            "streams": self._streams.state_dict(),
            "quotas": self.quotas.state_dict(),
            "draws": self._draws,
            "busy": np.flatnonzero(self._busy_P).tolist(),
            "predicted": self.predicted.state_dict(),
            "counts": dict(self._counts),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state.

        Raises:
            ConfigError: it is of another selector, mixer, or of other prompts or buckets.
        """
        if state.get("selector") != self.config.name:
            raise ConfigError(
                f"the saved prompt feed is of selector {state.get('selector')!r}, but this run has {self.config.name!r}"
            )
        self.stats.load_state_dict(state["stats"])
        self.quotas.load_state_dict(state["quotas"])
        self.rule_state = dict(state["rule"])
        self._streams.load_state_dict(state["streams"])
        self._draws = int(state["draws"])
        self._busy_P[:] = False
        self._busy_P[state["busy"]] = True
        self.predicted.load_state_dict(state["predicted"])
        self._counts = Counter(state["counts"])
