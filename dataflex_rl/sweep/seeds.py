"""A command line that stands for several runs, taken apart before Hydra sees it.

Hydra takes `seed=0-2` for a text and refuses `seed=0,3,7` without `-m`; here both are seeds, with and without `-m`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException

from dataflex_rl.config.quoting import readable
from dataflex_rl.errors import ConfigError
from dataflex_rl.seeding import parse_seed

_MULTIRUN = ("-m", "--multirun")
_LIST = re.compile(r"[0-9,\s-]*[0-9]\s*[,-][0-9,\s-]*")
_MOST = 10_000  # seeds of a range
_WANTED = "expected integers and ranges, such as 7, 0-11, 0,3,7 or 0-3,8"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a command line asks for: its arguments without `seed=` and `-m`, its seeds, whether `-m` was given."""

    arguments: tuple[str, ...]
    seeds: tuple[int, ...]
    multirun: bool = False

    @property
    def single(self) -> bool:
        """Whether it is one run in the foreground."""
        return not self.multirun and len(self.seeds) < 2


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of `7`, `0-11`, `0,3,7` or `0-3,8`, in the order given.

    Raises:
        ConfigError: no such text, a range that runs backwards, a seed named twice.
    """
    seeds: list[int] = []
    for part in (part.strip() for part in text.split(",")):
        found = re.fullmatch(r"([0-9]+)(?:\s*-\s*([0-9]+))?", part)
        if found is None:
            raise ConfigError(f"seed={text}: {part!r} is no seed; {_WANTED}")
        first, last = parse_seed(int(found[1])), parse_seed(int(found[2] or found[1]))
        if last < first:
            raise ConfigError(f"seed={text}: the range {part} runs backwards; {_WANTED}")
        if last - first >= _MOST:
            raise ConfigError(f"seed={text}: the range {part} names more than {_MOST:,} seeds")
        seeds += range(first, last + 1)
    double = sorted({seed for seed in seeds if seeds.count(seed) > 1}) if len(set(seeds)) < len(seeds) else []
    if double:
        raise ConfigError(
            f"seed={text}: seed {', '.join(map(str, double))} is named twice; a seed is one run per method"
        )
    return tuple(seeds)


def prepare(arguments: Sequence[str]) -> Request:
    """Take the seeds and `-m` out of a command line.

    A single seed, or one that is no list, stays an argument: Hydra and the run's own check have it. `new_sweep=` is
    `sweep=`.

    Raises:
        ConfigError: a list of seeds that is none, or `seed=` given twice.
    """
    arguments = [
        argument.removeprefix("new_") if argument.startswith("new_sweep=") else argument
        for argument in readable(arguments)
    ]
    given = [argument for argument in arguments if argument.startswith("seed=")]
    if len(given) > 1:
        raise ConfigError(f"seed is set twice: {' '.join(given)}")
    multirun = any(argument in _MULTIRUN for argument in arguments)
    rest = tuple(argument for argument in arguments if argument not in _MULTIRUN and argument not in given)
    text = given[0].removeprefix("seed=").strip("\"'[] ") if given else ""
    listed = bool(_LIST.fullmatch(text)) and not re.fullmatch(r"-[0-9]+", text)
    if not given or not (listed or (multirun and text.isdecimal())):
        default = (0,) if multirun and not given else ()
        return Request(arguments=(*rest, *given), seeds=default, multirun=multirun)
    seeds = parse_seeds(text)
    if len(seeds) == 1 and not multirun:
        rest += (f"seed={seeds[0]}",)
    return Request(arguments=rest, seeds=seeds, multirun=multirun)


def points(arguments: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the argument lists that Hydra's sweep values (`method=uniform,ar`, `x=range(0,3)`) stand for, in order.

    The last list varies fastest. Arguments that are no overrides (`--config-dir`, ...) are in every one.

    Raises:
        ConfigError: an override that Hydra cannot read, or a sweep over a pattern (`glob`).
    """
    choices: list[list[str]] = []
    for argument in readable(arguments):
        override = None if argument.startswith("-") or "=" not in argument else _parsed(argument)
        if override is None or not override.is_sweep_override():
            choices.append([argument])
            continue
        if not override.is_discrete_sweep() or isinstance(override.value(), Glob):
            raise ConfigError(f"{argument}: a sweep needs a list of values, such as method=uniform,ar")
        key = override.get_key_element()
        choices.append([f"{key}={value}" for value in override.sweep_string_iterator()])
    return list(itertools.product(*choices))


def _parsed(argument: str) -> Override:
    try:
        return OverridesParser.create().parse_override(argument)
    except HydraException as error:
        raise ConfigError(f"{argument}: Hydra cannot read it ({' '.join(str(error).split())})") from None
