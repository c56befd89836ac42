"""What other libraries say and nobody is to read, in one table; everything else reaches the console or a run's log.

verl's own log level is left alone: its warnings tell what it changes in the data (a prompt it cuts, a batch size it
overrides). What it prints and warns of while it checks a configuration becomes a warning of the plan.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Muted:
    """One thing that is muted: a module or package of ours that does it, what is not shown, and why."""

    module: str
    what: str
    why: str


MUTED = (
    Muted(
        module="quiet",
        what="warnings '... engine is not available'",
        why="verl tries every training engine at import; a run that asks for a missing one is refused by name",
    ),
    Muted(
        module="quiet",
        what="the log of a Ray instance that holds no run (launcher, doctor)",
        why="a run's own instance logs into train.log; how a run ended comes back as its outcome",
    ),
    Muted(
        module="quiet",
        what="of verl's checks: 'All configuration checks passed', 'Disabled critic as algorithm.adv_estimator != "
        "gae', 'val_batch_size is deprecated'",
        why="the first two are said of every good configuration, the third is untrue of the trainer that is used; "
        "every other line is a warning of the plan",
    ),
    Muted(
        module="runtime.wandb_log",
        what="W&B's own console output and its copy of the terminal",
        why="mode, place and error of the copy are printed and in the manifest",
    ),
    Muted(
        module="runtime.processes",
        what="Ray's warning of an accelerator variable whose default it will change; its merging of equal log lines",
        why="the variable is set; unmerged lines keep every worker's words in train.log",
    ),
    Muted(
        module="data.tiny.model",
        what="the progress bar of transformers",
        why="the build has a progress bar of its own",
    ),
    Muted(
        module="rewards",
        what="standard error and the log of the worker that compares formulas",
        why="sympy and math-verify complain there of texts that are no formulas; the grade says so",
    ),
    Muted(
        module="host.launch",
        what="Ray's copying of worker logs in an instance without a log monitor",
        why="its workers write into train.log themselves",
    ),
    Muted(
        module="sweep.design",
        what="both outputs of the analysis that decides at a look",
        why="its answer is read from them, and where it fails its last line is the error",
    ),
    Muted(
        module="run",
        what="standard error of the process that has verl check a configuration",
        why="what verl says comes back as warnings of the plan; all of it is printed where the check itself fails",
    ),
    Muted(
        module="commands.doctor",
        what="what a probe prints besides its answer",
        why="its last line is shown where the answer is missing",
    ),
    Muted(
        module="record.manifest", what="what git prints besides a revision", why="no checkout is a null in the manifest"
    ),
)
_ENGINES = ".* engine is not available.*"
_USUAL = re.compile(
    r"\[validate_config\] All configuration checks passed|Disabled critic as algorithm\.adv_estimator"
    r"|WARNING: val_batch_size is deprecated"
)
RAY: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}


def mute_missing_engines() -> None:
    """Mute verl's warnings of training engines that are not installed."""
    warnings.filterwarnings("ignore", message=_ENGINES)


@contextlib.contextmanager
def heard() -> Iterator[list[str]]:
    """Collect what is printed and warned of inside, one line each and once, without what MUTED names."""
    said: list[str] = []
    output = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(output):
        warnings.simplefilter("default")
        mute_missing_engines()
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield said
    lines = [line.strip() for line in output.getvalue().splitlines()]
    lines += [str(entry.message).strip().partition("\n")[0] for entry in caught]
    said += dict.fromkeys(line for line in lines if line and not _USUAL.match(line))
