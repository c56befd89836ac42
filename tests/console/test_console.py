"""The view of a run: plain lines, the live view, the table, the failure."""

import io
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console as RichConsole

from dataflex_rl.record.evaluation import domain_scores
from dataflex_rl.runtime.console import Console

PLAN = {"method": "difffilter", "model": "tiny", "task": "toy3", "seed": 0, "host": "cpu", "steps": 60}


def line(step, **changes):
    data = {
        "dataflex/reward_all": 0.5125,
        "dataflex/reward_effective": 0.61,
        "dataflex/kept_frac": 0.4,
        "timing_s/step": 2.0,
        "timing_s/gen": 1.25,
    }
    return {"step": step, "data": {**data, **changes}}


def evaluation(**accuracies):
    """eval.json of {benchmark: (domain, untrained, trained)}."""
    phases = ("untrained", "trained")
    return {
        "benchmarks": {
            name: {
                "domain": domain,
                **{p: {"accuracy": v} for p, v in zip(phases, values, strict=True) if v is not None},
            }
            for name, (domain, *values) in accuracies.items()
        }
    }


def plain(**options):
    out = io.StringIO()
    return Console(file=out, **options), out


def test_plain_lines():
    console, out = plain()
    console.start(PLAN)
    console.phase("train")
    console.phase("train")
    console.step(line(3))
    # left: 57 steps of 2 s = 114 s
    assert out.getvalue().splitlines() == [
        "difffilter, tiny, toy3, seed 0, host cpu: 60 steps",
        "train ...",
        "step 3/60  reward all 0.512  effective 0.610  kept 40%  seconds 2.0  generating 1.2  left 1:54",
    ]


def test_numbers_that_are_missing_or_null_show_as_a_dash():
    console, out = plain()
    console.start(PLAN, from_step=20)
    console.step({"step": 21, "data": {"dataflex/reward_all": None}})
    assert out.getvalue().splitlines() == [
        "difffilter, tiny, toy3, seed 0, host cpu: 60 steps, continues after step 20",
        "step 21/60  reward all -  effective -  kept -  seconds -  generating -  left -",
    ]


def test_what_a_prompt_selector_did_has_a_line_of_its_own():
    found = {f"dataflex/prompts/{key}": value for key, value in (
        ("drawn", 16.0), ("skipped/solved", 3.0), ("skipped/repeated", 2.0), ("brier/first", 0.2104),
        ("brier_domain/first", 0.25), ("brier/later", 0.19),
    )}  # fmt: skip
    console, out = plain()
    console.start(PLAN)
    console.step(line(3, **found))
    assert out.getvalue().splitlines()[-1] == (
        "  prompts drawn 16  skipped 5  Brier score of first visits 0.210 (domain mean 0.250)"
    )
    shown = io.StringIO()
    RichConsole(file=shown, width=120).print(console._view())
    assert "prompts drawn 16  skipped 5" in shown.getvalue()


def test_zero_is_a_number():
    console, out = plain()
    console.start({"steps": 5400})
    console.step(line(1, **{"dataflex/reward_all": 0.0, "dataflex/kept_frac": 0.0}))
    # left: 5399 * 2 s = 10798 s = 2 h 59 min 58 s
    assert "reward all 0.000  effective 0.610  kept 0%  " in out.getvalue()
    assert "left 2:59:58" in out.getvalue()


def test_time_left_follows_the_last_ten_steps():
    console, out = plain()
    console.start(PLAN)
    console.step(line(1, **{"timing_s/step": 500.0}))
    for step in range(2, 12):
        console.step(line(step, **{"timing_s/step": 3.0}))
    assert out.getvalue().splitlines()[-1].endswith("left 2:27")  # 49 * 3 s = 147 s


def test_one_line_every_k_seconds_and_the_last():
    times = iter(range(0, 100, 2))
    now = [0.0]

    def clock():
        return now[0]

    console, out = plain(every=5.0, clock=clock)
    console.start({**PLAN, "steps": 8})
    for step in range(1, 9):
        now[0] = float(next(times))
        console.step(line(step))
    # seen at 0, 2, 4, ... s: lines at 0, 6, 12 s, and the last
    shown = [int(found) for found in re.findall(r"step (\d+)/8", out.getvalue())]
    assert shown == [1, 4, 7, 8]


def test_live_view_shows_the_last_step_and_leaves_nothing_behind():
    out = io.StringIO()
    console = Console(file=out, live=True)
    console.start(PLAN)
    console.phase("train")
    console.step(line(7))
    rich = console._rich
    with rich.capture() as seen:
        rich.print(console._view())
    text = seen.get()
    for part in ("step 7/60", "train", "reward all", "0.512", "0.610", "40%", "2.0", "1:46"):
        assert part in text
    console.close()
    assert console._live is None


def test_a_terminal_gets_the_live_view_and_a_file_does_not(tmp_path):
    import os
    import pty
    import subprocess

    script = (
        "from dataflex_rl.runtime.console import Console; c = Console(); c.start({'steps': 3})\n"
        "for n in (1, 2, 3): c.step({'step': n, 'data': {}})\n"
        "c.close()"
    )
    piped = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in piped
    assert re.findall(r"step (\d)/3  ", piped) == ["1", "2", "3"]
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    subprocess.run([sys.executable, "-c", script], stdout=child, stderr=child, env=environment, check=True)
    os.close(child)
    seen = os.read(parent, 100_000).decode()
    os.close(parent)
    assert "\x1b[" in seen
    assert "3/3" in seen


TABLE = evaluation(
    math_a=("math", 0.5, 0.9), math_b=("math", 0.7, 0.8), logic=("logic", 0.25, 0.2), science=("science", 0.0, 1.0)
)


def test_domain_scores_by_hand():
    # math (.5 + .7) / 2 = .6 -> (.9 + .8) / 2 = .85; average (.6 + .25 + 0) / 3 and (.85 + .2 + 1) / 3
    assert domain_scores(TABLE, "untrained") == pytest.approx(
        {"logic": 0.25, "math": 0.6, "science": 0, "average": 0.85 / 3}
    )
    assert domain_scores(TABLE, "trained") == pytest.approx(
        {"logic": 0.2, "math": 0.85, "science": 1, "average": 2.05 / 3}
    )


def rows(text):
    """The cells of a printed table, one list per row."""
    lines = [re.split(r"\s*[│┃|]\s*", row.strip(" │┃|")) for row in text.splitlines() if re.search(r"[│┃|]", row)]
    return [[cell.strip() for cell in row] for row in lines]


def test_final_table():
    console, out = plain()
    console.start(PLAN)
    path = Path("/a/rather/long/path/" + "x" * 100 + "/seed_0")
    console.done(TABLE, path)
    assert rows(out.getvalue()) == [
        ["domain", "untrained", "trained", "points"],
        ["logic", "25.0", "20.0", "-5.0"],
        ["math", "60.0", "85.0", "+25.0"],
        ["science", "0.0", "100.0", "+100.0"],
        ["average", "28.3", "68.3", "+40.0"],
    ]
    assert out.getvalue().splitlines()[-1] == f"record: {path}"


def test_a_missing_benchmark_makes_domain_and_average_missing():
    console, out = plain()
    console.done(evaluation(a=("math", 0.5, 0.9), b=("math", 0.5, None), c=("logic", 0.0, 0.0)), Path("/r"))
    assert rows(out.getvalue())[1:] == [
        ["logic", "0.0", "0.0", "+0.0"],
        ["math", "50.0", "missing", "missing"],
        ["average", "25.0", "missing", "missing"],
    ]


def test_failure_names_cause_and_log(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        'x\nTraceback (most recent call last):\n  File "/a/b.py", line 3, in f\n    g()\nValueError: [bold] no\n'
    )
    console, out = plain()
    console.start(PLAN)
    console.step(line(7))
    console.failed("training ended with exit code 1", log)
    assert out.getvalue().splitlines()[2:] == [
        "failed at step 7/60: training ended with exit code 1",
        "  ValueError: [bold] no",
        "  at /a/b.py:3, in f",
        f"log: {log}",
    ]


def test_interruption_says_how_to_continue():
    console, out = plain()
    console.start(PLAN)
    console.step(line(7))
    console.interrupted(Path("/runs/seed_0"))
    assert out.getvalue().splitlines()[2:] == [
        "interrupted after step 7/60; the same command continues it",
        "record: /runs/seed_0",
    ]


def test_a_stream_that_knows_only_ascii_is_enough():
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    console = Console(file=out)
    console.start(PLAN)
    console.done(TABLE, Path("/é"))
    out.flush()
    text = raw.getvalue().decode("ascii")
    assert ["average", "28.3", "68.3", "+40.0"] in rows(text)
    assert text.splitlines()[-1] == "record: /\\xe9"


def test_what_changes_data_stays_on_the_screen_as_it_is():
    out = io.StringIO()
    Console(file=out, live=False).warn(["data.train_files: 3 dropped [longer]", "chat template: [/] :x:"])
    assert out.getvalue() == "warning: data.train_files: 3 dropped [longer]\nwarning: chat template: [/] :x:\n"
