"""`dataflex-rl doctor`: can training start here? One line per check, with what to do where the answer is no."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
from packaging.requirements import Requirement

from dataflex_rl.commands.doctor_probes import MARK
from dataflex_rl.config.places import CACHE, DATASETS, datasets_cache, existing
from dataflex_rl.config.temporary import base_folder
from dataflex_rl.data.cache import default_root
from dataflex_rl.errors import ConfigError
from dataflex_rl.output import safe_output
from dataflex_rl.record.files import check_writable
from dataflex_rl.runtime.scratch import scratch_folder

TRAINERS = ("dataflex_sync", "dataflex_mix_sync")  # what verl must know after loading the plugin
_GIB = 2**30
_DISK_NEEDED, _DISK_WANTED = 1.0, 5.0  # [GiB] model, task and checkpoints of a tiny run; of a few of them
_MEMORY_NEEDED, _MEMORY_WANTED = 3.0, 6.0  # [GiB] the processes of a tiny run, barely and with ease
_NAMED = 3  # hooks that do not fit are named up to here; `--hooks` lists all
_PROBE_SECONDS = 180  # longest wait for a probe; importing verl takes seconds, on a busy machine many


@dataclass(frozen=True, kw_only=True)
class Check:
    """One answer. status: ok, warn (training can start, but ...) or fail (it cannot)."""

    name: str
    status: str
    detail: str
    todo: str = ""

    def line(self) -> str:
        """Return the answer on one line."""
        text = f"{self.status.upper():4}  {self.name}: {self.detail}"
        return f"{text} -> {self.todo}" if self.todo else text


def main(argv: list[str] | None = None) -> int:
    """Print one line per check; returns 0 if training can start, else 1."""
    safe_output()
    parser = argparse.ArgumentParser(prog="dataflex-rl doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output instead of lines")
    parser.add_argument("--runs-dir", default="runs", help="where run records will be written (default: runs)")
    parser.add_argument("--hooks", action="store_true", help="print only the names of verl that this package builds on")
    options = parser.parse_args(argv)
    if options.hooks:
        return print_hooks(_probe("probe_driver"))
    checks = []
    for check in run_checks(options.runs_dir):
        checks.append(check)
        if not options.json:
            print(check.line(), flush=True)
    failed = [check.name for check in checks if check.status == "fail"]
    if options.json:
        print(json.dumps({"ok": not failed, "checks": [asdict(check) for check in checks]}, indent=2))
    else:
        print(f"training cannot start: {', '.join(failed)}" if failed else "training can start")
    return 1 if failed else 0


def run_checks(runs_dir: str) -> Iterator[Check]:
    """Yield every check, the quick ones first."""
    with ThreadPoolExecutor() as pool:
        in_torch, in_driver, in_worker = (
            pool.submit(_probe, f"probe_{name}") for name in ("torch", "driver", "worker")
        )
        yield check_python()
        yield from check_packages()
        yield from check_disk(runs_dir)
        yield check_memory()
        yield check_accelerators(in_torch.result())
        yield from check_driver(in_driver.result())
        yield check_registration("plugin in a Ray worker", in_worker.result())


def check_python() -> Check:
    """Check the version of Python against the package's own range."""
    found = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info[:2] < (3, 13):
        return Check(name="python", status="ok", detail=f"{found} ({sys.executable})")
    return Check(
        name="python", status="fail", detail=f"{found}, expected >=3.11,<3.13", todo="make a venv of Python 3.11"
    )


def check_packages() -> Iterator[Check]:
    """Check that this package is installed, which is what verl finds it by, and what it needs, by its own ranges."""
    try:
        requirements = metadata.requires("dataflex_rl") or []
    except metadata.PackageNotFoundError:
        todo = "pip install -e . in the checkout"
        yield Check(name="dataflex_rl", status="fail", detail="not installed, so verl cannot find it", todo=todo)
        return
    ranges = {item.name.lower(): item for item in map(Requirement, requirements)}
    yield Check(name="dataflex_rl", status="ok", detail=metadata.version("dataflex_rl"))
    for package in ("torch", "verl", "TransferQueue", "ray"):
        yield check_package(package, ranges[package.lower()])


def check_package(name: str, expected: Requirement) -> Check:
    """Check that a package is installed in the range this package asks for."""
    todo = f"pip install '{expected.name}{expected.specifier}'"
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name=name, status="fail", detail="not installed", todo=todo)
    if expected.specifier.contains(found, prereleases=True):
        return Check(name=name, status="ok", detail=found)
    return Check(name=name, status="fail", detail=f"{found}, expected {expected.specifier}", todo=todo)


def check_disk(runs_dir: str) -> Iterator[Check]:
    """Check the folders that training writes to: writable, with room."""
    places = (
        ("disk for runs", Path(runs_dir), "choose another with runs_dir=..."),
        ("disk for the cache", default_root(), CACHE[1]),
        ("disk for the cache of datasets", datasets_cache(), DATASETS[1]),
    )
    for name, folder, todo in places:
        try:
            place = existing(folder.expanduser().resolve())
            check_writable(place)
        except ConfigError as error:
            yield Check(name=name, status="fail", detail=str(error).partition(": ")[2], todo=todo)
            continue
        free = shutil.disk_usage(place).free / _GIB
        yield _amount(name, free, _DISK_NEEDED, _DISK_WANTED, f"free in {place}", f"free some, or {todo}")
    try:
        yield Check(name="temporary folder", status="ok", detail=str(base_folder()))
    except ConfigError as error:
        detail, _, todo = str(error).partition("; ")
        yield Check(name="temporary folder", status="fail", detail=detail, todo=todo)


def check_memory() -> Check:
    """Check the memory that is available, within the limit of a container too."""
    available = float(psutil.virtual_memory().available)
    group = Path("/sys/fs/cgroup")
    if (group / "memory.max").exists() and (limit := (group / "memory.max").read_text().strip()) != "max":
        used = int((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        available = min(available, int(limit) - used + int(stat["inactive_file"]))  # the page cache gives way
    return _amount("memory", available / _GIB, _MEMORY_NEEDED, _MEMORY_WANTED, "available", "end other programs")


def _amount(name: str, found: float, needed: float, expected: float, what: str, todo: str) -> Check:
    """Grade an amount in GiB: fail below `needed`, warn below `expected`."""
    status = "ok" if found >= expected else "warn" if found >= needed else "fail"
    detail = f"{found:.1f} GiB {what}"
    return Check(name=name, status=status, detail=detail, todo="" if status == "ok" else f"{todo} ({expected:g} GiB)")


def check_accelerators(answer: dict[str, Any]) -> Check:
    """Say what torch computes on; a CPU is enough."""
    if "error" in answer:
        return Check(name="accelerators", status="fail", detail=answer["error"], todo="reinstall torch")
    if answer["devices"]:
        return Check(name="accelerators", status="ok", detail=", ".join(answer["devices"]))
    if shutil.which("nvidia-smi"):
        todo = "install a CUDA build of torch to use it"
        return Check(name="accelerators", status="warn", detail="there is a GPU that torch cannot use", todo=todo)
    return Check(name="accelerators", status="ok", detail="none, runs take host=cpu")


def check_driver(answer: dict[str, Any]) -> Iterator[Check]:
    """Check verl's interface, the import of TransferQueue and the registration in this environment."""
    todo = "pip install --force-reinstall 'verl>=0.9.1,<0.10'"
    if "error" in answer:
        yield Check(name="verl interface", status="fail", detail=answer["error"], todo=todo)
        return
    count, wrong = len(answer["table"]), answer["misfits"]
    if wrong:
        more = f"; and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        detail = f"{len(wrong)} of {count} hooks do not fit: {'; '.join(wrong[:_NAMED])}{more}"
        yield Check(name="verl interface", status="fail", detail=detail, todo=todo)
    else:
        yield Check(name="verl interface", status="ok", detail=f"{count} hooks checked, all fit")
    yield check_registration("plugin in the driver", answer)


def print_hooks(answer: dict[str, Any]) -> int:
    """Print every name of verl that this package builds on, what for, and the versions seen with it."""
    if "error" in answer:
        print(f"cannot read the table: {answer['error']}")
        return 1
    for path, how, parameters, why, versions in answer["table"]:
        print(f"{path}{f'({parameters})' if parameters else ''}: {how}; {why}; {versions}")
    print(f"{len(answer['table'])} hooks, {len(answer['misfits'])} do not fit", *answer["misfits"], sep="\n")
    return 1 if answer["misfits"] else 0


def check_registration(name: str, answer: dict[str, Any]) -> Check:
    """Check that the trainers are registered with verl; the reason where they are not."""
    if "error" in answer:
        return Check(name=name, status="fail", detail=answer["error"], todo="repair that, and what failed above")
    absent = [trainer for trainer in TRAINERS if trainer not in answer["trainers"]]
    if not absent:
        return Check(name=name, status="ok", detail=f"{', '.join(TRAINERS)} registered")
    detail = f"{', '.join(absent)} not registered: {answer['status']}"
    policy = os.environ.get("VERL_USE_EXTERNAL_PLUGINS", "auto").strip()
    if policy.lower() != "auto" and "dataflex_rl" not in policy.lower().replace(" ", "").split(","):
        return Check(name=name, status="fail", detail=detail, todo=f"unset VERL_USE_EXTERNAL_PLUGINS (is {policy!r})")
    return Check(name=name, status="fail", detail=detail, todo="repair that; is dataflex_rl installed beside verl?")


def _probe(function: str) -> dict[str, Any]:
    """Return the answer of a probe run in a process of its own, or {"error": one line}."""
    command = [sys.executable, "-c", f"from dataflex_rl.commands import doctor_probes as p; p.answer(p.{function})"]
    environment = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    try:
        with scratch_folder() as scratch:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_PROBE_SECONDS, env=environment | scratch
            )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {_PROBE_SECONDS} s"}
    except ConfigError as error:
        return {"error": str(error)}
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            value = json.loads(line.removeprefix(MARK))
            assert isinstance(value, dict)
            return value
    last = [line for line in done.stderr.splitlines() if line.strip()][-1:] or ["no output"]
    return {"error": f"exit code {done.returncode}: {last[0].strip()}"}


if __name__ == "__main__":
    sys.exit(main())
