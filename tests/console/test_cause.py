"""The cause of a failure, from logs as verl and Ray write them."""

import subprocess
import sys

import pytest

from dataflex_rl.record.cause import cause_of

RAY = """\
(TaskRunner pid=812) step:3 - actor/loss:0.1
Error executing job with overrides: []
\x1b[36m(TaskRunner pid=812)\x1b[0m Unhandled error
Traceback (most recent call last):
  File "/venv/verl/trainer/main_ppo.py", line 45, in main
    run_ppo(config)
  File "/venv/ray/_private/worker.py", line 960, in get
    raise value.as_instanceof_cause()
ray.exceptions.RayTaskError(ValueError): \x1b[36mray::TaskRunner.run()\x1b[39m (pid=812, ip=10.0.0.2, repr=<x>)
           ^^^^^^^^^^^
  File "/venv/verl/trainer/main_ppo.py", line 150, in run
    trainer.fit()
  File "/home/u/mine.py", line 7, in score
    raise ValueError("no answer in prompt 3")
ValueError: no answer in prompt 3
the gold answer is empty

Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.
"""
CAUSE = ["ValueError: no answer in prompt 3", "the gold answer is empty", "at /home/u/mine.py:7, in score"]
IGNORED = """\
Exception ignored in: <function A.__del__ at 0x7f>
Traceback (most recent call last):
  File "/venv/a.py", line 1, in __del__
TypeError: 'NoneType' object is not callable
"""
PREFIXED = """\
(WorkerDict pid=9) Traceback (most recent call last):
(WorkerDict pid=9)   File "/venv/w.py", line 2, in update
(WorkerDict pid=9)     loss.backward()
(WorkerDict pid=9) torch.OutOfMemoryError: CUDA out of memory
(WorkerDict pid=9) bye
"""


def cause(tmp_path, text):
    log = tmp_path / "train.log"
    log.write_text(text)
    return cause_of(log)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(RAY, CAUSE, id="the original error behind Ray's wrapper"),
        pytest.param(RAY + IGNORED, CAUSE, id="errors of shutting down do not count"),
        pytest.param(IGNORED + RAY, CAUSE, id="the last one counts"),
        pytest.param(
            PREFIXED, ["torch.OutOfMemoryError: CUDA out of memory", "bye", "at /venv/w.py:2, in update"], id="prefix"
        ),
        pytest.param("a\n\nb\rc\n", ["a", "b", "c"], id="no traceback: the last lines"),
        pytest.param(RAY + "Traceback (most recent call last):\n  File", CAUSE, id="a traceback that is cut off"),
        pytest.param("", ["the log is empty"], id="empty"),
    ],
)
def test_cause(tmp_path, text, want):
    assert cause(tmp_path, text) == want


def test_cause_of_a_real_process(tmp_path):
    log = tmp_path / "train.log"
    script = tmp_path / "script.py"
    script.write_text(
        "def f():\n    return {}['k']\ntry:\n    f()\nexcept KeyError as e:\n    raise RuntimeError('outer') from e\n"
    )
    with log.open("w") as file:
        subprocess.run([sys.executable, str(script)], stderr=file)
    assert cause_of(log) == ["RuntimeError: outer", f"at {script}:6, in <module>"]


def test_few_lines_of_bounded_width_from_a_big_log(tmp_path):
    text = "x" * 2_000_000 + "\n" + RAY.replace("the gold answer is empty", "\n".join("y" * 999 for _ in range(50)))
    found = cause(tmp_path, text)
    assert len(found) <= 6
    assert max(map(len, found)) <= 300
    assert found[0] == CAUSE[0]
    assert found[-1] == CAUSE[-1]


def test_an_earlier_attempt_does_not_count(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(RAY)
    since = log.stat().st_size
    assert cause_of(log, since) == ["the log is empty"]
    log.write_text(RAY + "step 1\n")
    assert cause_of(log, since) == ["step 1"]
    assert cause_of(log) == CAUSE


def test_no_log(tmp_path):
    assert cause_of(tmp_path / "train.log") == ["no log to read (No such file or directory)"]
