"""A sweep's design: the block `design:` of its file, `design=` on the command line, and what the analysis makes of it.

The rules are the analysis's: it is asked through its command line (`python -m analysis.designs`), with JSON in and out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import dataflex_rl
from dataflex_rl.errors import ConfigError, unknown
from dataflex_rl.record.pairs import CONTROLS, kind_of
from dataflex_rl.sweep.plan import Run

KEYS = ("name", "margin", "score", "family", "beta", "inferior", "sigma")
NAMES = ("fixed", "sequential", "screen")
SIGMA = 0.97  # sd of a run [points] where nothing is known: that of a 7B base model
_PLANNED = "sigma"  # used by `plan` alone, so no part of what is fixed


def split_design(block: Mapping[str, Any], arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return (the settings of a sweep's design, {} without one; the arguments that are none of them).

    `design=NAME` and `design.KEY=VALUE` go before the block of the file.

    Raises:
        ConfigError: an unknown key or design, or no name.
    """
    settings, rest = dict(block), []
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if equals and (key == "design" or key.startswith("design.")):
            settings[key.partition(".")[2] or "name"] = yaml.safe_load(text)
        else:
            rest.append(argument)
    for key in settings:
        if key not in KEYS:
            raise unknown("design setting", key, KEYS)
    if settings and settings.get("name") not in NAMES:
        raise ConfigError(f"design.name={settings.get('name')!r}: expected one of {', '.join(NAMES)}")
    return settings, rest


def families_of(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Return {family: {"arms", "control"}} of a sweep: policies, mixers and prompt selectors, each with its control.

    Raises:
        ConfigError: the runs are of more than one comparison.
    """
    places = sorted({f"{run.model}, {run.task}, {run.regime}, {run.steps} steps" for run in runs})
    if len(places) > 1:
        raise ConfigError(f"design=: a design is of one comparison, the sweep has {'; '.join(places)}")
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        kind = kind_of(run.actuator, run.mixer, run.prompt_selector)
        if kind is None or run.method == CONTROLS[kind]:
            continue
        family = found.setdefault(kind, {"arms": [], "control": CONTROLS[kind]})
        family["arms"] += [run.method] if run.method not in family["arms"] else []
    if not found:
        raise ConfigError("design=: the sweep has no method beside its controls")
    return found


def freeze(
    settings: Mapping[str, Any], family: Mapping[str, Any], seeds: Sequence[int], before: Any = None
) -> dict[str, Any]:
    """Return {"protocol", "needs", "most"} of one family; ConfigError where the analysis refuses, with its reason."""
    fixed = {key: value for key, value in settings.items() if key not in ("name", _PLANNED)}
    request = {"design": settings["name"], **family, **fixed, "seeds": list(seeds)}
    found: dict[str, Any] = ask("freeze", settings=request, **({} if before is None else {"against": before}))
    return found


def promised(design: Mapping[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """Return what a design promises per family, simulated with its shipped boundaries, beside the fixed design.

    {"settings", "families": {family: {"arms", "control", "rows", "notes"}}}, a row per design and true effect of all
    arms. Each row also has the seconds (one run after the other) and gpu_hours of the runs expected and of the most;
    None where a run is not estimated.
    """
    settings = design["settings"]
    options = {"design": settings["name"], "sigma": settings.get("sigma", SIGMA), "margin": settings.get("margin", 1.0)}
    each = {key: _mean([getattr(run, key) for run in runs]) for key in ("seconds", "gpu_hours")}
    families = {}
    for name, part in design["families"].items():
        asked = {**options, "arms": len(part["family"]["arms"])}
        table = ask("plan", "--json", *(f"--{key}={value}" for key, value in asked.items()))["tables"]["plan"]
        for row in table["rows"]:
            for key, one in each.items():
                row[key] = None if one is None else one * row["runs"]
                row[f"most_{key}"] = None if one is None else one * row["most_runs"]
        families[name] = {**part["family"], "rows": table["rows"], "notes": table["notes"]}
    return {"settings": dict(settings), "families": families}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def design_lines(plan: Mapping[str, Any]) -> list[str]:
    """Return what a design promises in short lines; none without one."""
    lines = []
    for name, part in plan.get("families", {}).items():
        lines.append(f"{name}: {len(part['arms'])} arms against {part['control']}: {part['notes'][0]}")
        for row in part["rows"]:
            hours, most = row["gpu_hours"], row["most_gpu_hours"]
            cost = "" if not hours else f", {hours:,.0f} GPU-hours (at most {most:,.0f})"
            if row["seconds"] is not None:
                cost += f", {row['seconds'] / 3600:,.1f} hours one by one (at most {row['most_seconds'] / 3600:,.1f})"
            lines.append(
                f"  {row['design']}, all arms at {row['effect']:+g}: superior {row['superior']:.2f}, no gain "
                f"{row['no_gain']:.2f}, {row['runs']:.0f} runs expected, at most {row['most_runs']}{cost}"
            )
    return lines


def replay(folder: Path, settings: Mapping[str, Any], *, as_json: bool) -> int:
    """Replay a design on the finished records of a sweep; return the exit code of the analysis, which prints.

    Raises:
        ConfigError: settings that a replay does not take.
    """
    if wrong := sorted(set(settings) - {"name", "margin", "score"}):
        raise ConfigError(f"replay takes no design.{wrong[0]}; it takes design=, design.margin= and design.score=")
    options = [f"--{key}={settings[key]}" for key in ("margin", "score") if key in settings]
    line = [
        sys.executable,
        "-m",
        "analysis.replay",
        f"--runs={folder}",
        f"--design={settings.get('name', 'sequential')}",
    ]
    return subprocess.run([*line, *options, *["--json"] * as_json], env=_environment(), check=False).returncode


def _environment() -> dict[str, str]:
    """Return this environment with the analysis that belongs to this package."""
    root = str(Path(dataflex_rl.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}


def ask(command: str, *arguments: str, **files: Any) -> Any:
    """Return what `python -m analysis.designs COMMAND` answers; `files` are given to it as JSON files.

    Raises:
        ConfigError: it refuses; its own line says why.
    """
    with tempfile.TemporaryDirectory() as folder:
        given = []
        for name, value in files.items():
            path = Path(folder, f"{name}.json")
            path.write_text(json.dumps(value))
            given += [f"--{name}", str(path)]
        line = [sys.executable, "-m", "analysis.designs", command, *arguments, *given]
        done = subprocess.run(
            line, capture_output=True, text=True, check=False, env=_environment(), start_new_session=True
        )
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
        raise ConfigError(f"design: {said.removeprefix('error: ')}")
    return json.loads(done.stdout)
