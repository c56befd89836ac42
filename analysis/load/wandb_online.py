"""A W&B project through its public API: `wandb:ENTITY/PROJECT`."""

from __future__ import annotations

from typing import Any

from analysis.errors import AnalysisError
from analysis.load.frame import Broken, Run
from analysis.load.wandb_run import build_run


def load(project: str, api: Any = None) -> tuple[list[Run], list[str]]:
    """Read every run of ENTITY/PROJECT; runs that are not finished, or say too little of themselves (Broken), are left
    out and named.

    api: a `wandb.Api`; made here (it needs a key and the network) when None. Raises AnalysisError naming the project
    when it cannot be reached.
    """
    if project.count("/") != 1 or not all(project.split("/")):
        raise AnalysisError(f"source 'wandb:{project}'; expected wandb:ENTITY/PROJECT")
    runs: list[Run] = []
    notes: list[str] = []
    for run in _listed(project, api):
        source = f"wandb:{project}/{run.id}"
        if run.state != "finished":
            notes.append(f"{source}: left out: state is {run.state!r}, not 'finished'")
            continue
        try:
            runs.append(build_run(dict(run.config), dict(run.summary), run.scan_history(), source))
        except AnalysisError as error:
            notes.append(Broken(f"{source}: left out: {error}"))
    return runs, notes


def _listed(project: str, api: Any) -> list[Any]:
    import wandb  # seconds to import, and only this source needs it

    try:
        client = wandb.Api() if api is None else api
        return list(client.runs(project))
    except (wandb.errors.Error, ValueError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AnalysisError(f"source 'wandb:{project}': cannot be read: {reason}") from error
