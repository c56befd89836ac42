"""The meter of `make bench` counts what a command and its orphans compute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
# a child burns .6 CPU s, an orphan of it .6 more, and lines appear in a file
WORK = """
import os, sys, time
lines = open(sys.argv[1], "a", buffering=1)
def burn():
    while time.process_time() < .6: pass
lines.write("one\\n")
if os.fork() == 0:
    if os.fork() == 0:
        burn()
    os._exit(0)
burn()
lines.write("two\\n")
time.sleep(.3)
"""
METER = """
import json, os, sys
from pathlib import Path
from process_tree import measured
found = measured([sys.executable, "-c", sys.argv[1], sys.argv[2]], environment=os.environ, lines=Path(sys.argv[2]))
print(json.dumps(vars(found)))
"""


def test_the_meter_counts_orphans_and_times_lines(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", METER, WORK, str(tmp_path / "lines")],
        cwd=SCRIPTS,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["code"] == 0
    assert 0.9 <= found["cpu"] <= 2.5  # .6 of each, less at most .1 each, and the start of the interpreter
    assert found["processes"] >= 2
    assert len(found["lines"]) == 2
    assert found["lines"][0] <= found["lines"][1] <= found["wall"]
    assert found["pss"] > 1_000_000


def test_the_table_stands_beside_the_committed_one() -> None:
    code = (
        "from bench_host import table\nfrom rich.console import Console\n"
        "Console(width=120).print(table({'a step': {'cpu_s': 0.5}}, {'a step': {'cpu_s': 1.0}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=SCRIPTS, capture_output=True, text=True, env=os.environ)
    assert "0.50" in done.stdout, done.stderr
