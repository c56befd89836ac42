"""doctor on this environment, and on broken ones."""

import json
import os
import subprocess
import sys

import pytest
from packaging.requirements import Requirement

from dataflex_rl.commands import doctor
from dataflex_rl.commands.doctor import Check


def run(*arguments, **environment):
    command = [sys.executable, "-m", "dataflex_rl.commands.doctor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_a_sound_environment_by_json(tmp_path):
    done = run("--json", "--runs-dir", str(tmp_path / "runs"))
    answer = json.loads(done.stdout)
    checks = {check["name"]: check for check in answer["checks"]}
    assert {name: check["status"] for name, check in checks.items() if check["status"] == "fail"} == {}, done.stdout
    assert (done.returncode, answer["ok"]) == (0, True)
    assert list(checks) == [
        "python", "dataflex_rl", "torch", "verl", "TransferQueue", "ray", "disk for runs", "disk for the cache",
        "disk for the cache of datasets", "temporary folder", "memory", "accelerators", "verl interface",
        "plugin in the driver", "plugin in a Ray worker",
    ]  # fmt: skip
    assert checks["verl interface"]["detail"].endswith(" hooks checked, all fit")
    assert checks["plugin in a Ray worker"]["detail"] == "dataflex_sync, dataflex_mix_sync registered"
    assert not (tmp_path / "runs").exists()


def test_a_plugin_that_is_switched_off_is_found_in_driver_and_worker():
    done = run(VERL_USE_EXTERNAL_PLUGINS="none")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    said = "dataflex_sync, dataflex_mix_sync not registered: verl did not load the plugin"
    todo = "unset VERL_USE_EXTERNAL_PLUGINS (is 'none')"
    assert f"FAIL  plugin in the driver: {said} -> {todo}" in lines
    assert f"FAIL  plugin in a Ray worker: {said} -> {todo}" in lines
    assert lines[-1] == "training cannot start: plugin in the driver, plugin in a Ray worker"


def test_a_broken_library_is_named_with_its_reason(tmp_path, monkeypatch):
    (tmp_path / "transfer_queue.py").write_text("raise ImportError('libzmq is missing')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    checks = list(doctor.check_driver(doctor._probe("probe_driver")))
    assert checks[0].name == "verl interface"
    assert checks[0].status == "fail"
    assert "libzmq is missing" in checks[0].detail
    assert "\n" not in checks[0].line()
    assert [check.status for check in checks] == ["fail", "fail"]


def test_a_library_that_takes_the_process_down_does_not_take_the_doctor_down(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("import os, sys; print('illegal hardware', file=sys.stderr); os._exit(132)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    check = doctor.check_accelerators(doctor._probe("probe_torch"))
    assert check == Check(
        name="accelerators", status="fail", detail="exit code 132: illegal hardware", todo="reinstall torch"
    )


@pytest.mark.parametrize(
    ("name", "expected", "status", "says"),
    [
        ("torch", "torch>=2", "ok", "2."),
        ("torch", "torch<2", "fail", "expected <2 -> pip install 'torch<2'"),
        ("torchtitan-none", "torchtitan-none>=1,<2", "fail", "not installed -> pip install 'torchtitan-none"),
    ],
)
def test_versions_are_held_against_the_range(name, expected, status, says):
    check = doctor.check_package(name, Requirement(expected))
    assert check.status == status
    assert says in check.line()


@pytest.mark.parametrize(
    ("found", "status", "line"),
    [
        (0.5, "fail", "FAIL  memory: 0.5 GiB available -> end other programs (6 GiB)"),
        (3.0, "warn", "WARN  memory: 3.0 GiB available -> end other programs (6 GiB)"),
        (6.0, "ok", "OK    memory: 6.0 GiB available"),
    ],
)
def test_amounts(found, status, line):
    check = doctor._amount("memory", found, 3.0, 6.0, "available", "end other programs")
    assert (check.status, check.line()) == (status, line)


def test_a_folder_that_cannot_be_written_is_named():
    check = next(doctor.check_disk("/proc/runs"))
    assert check.status == "fail"
    assert check.line().startswith("FAIL  disk for runs: cannot write to /proc: ")
    assert check.line().endswith("-> choose another with runs_dir=...")


def test_hooks_that_do_not_fit_are_counted_and_the_first_are_named():
    answer = {"table": [["verl.a.b", "called", "", "x", "1 to 2"]] * 9, "misfits": ["a.b is missing"] * 4}
    answer |= {"trainers": [], "status": "dataflex_rl works with verl 0.9.1, found 0.9.5: a.b is missing"}
    check, registered = doctor.check_driver(answer)
    named = "; ".join(["a.b is missing"] * 3)
    assert check.line().startswith(f"FAIL  verl interface: 4 of 9 hooks do not fit: {named}; and 1 more -> pip install")
    assert "not registered: dataflex_rl works with verl 0.9.1, found 0.9.5" in registered.line()


def test_the_table_of_hooks(capsys):
    row = ["verl.a.b", "overridden", "x, y", "for z", "0.9.0 to 0.9.1"]
    assert doctor.print_hooks({"table": [row], "misfits": []}) == 0
    assert doctor.print_hooks({"table": [row], "misfits": ["verl.a.b is missing (overridden: for z)"]}) == 1
    line = "verl.a.b(x, y): overridden; for z; 0.9.0 to 0.9.1\n"
    assert capsys.readouterr().out == (
        f"{line}1 hooks, 0 do not fit\n{line}1 hooks, 1 do not fit\nverl.a.b is missing (overridden: for z)\n"
    )


def test_the_plugins_own_reason_is_passed_on():
    answer = {"trainers": ["sync"], "status": "verl 0.8.0, expected >=0.9.1,<0.10"}
    check = doctor.check_registration("plugin in the driver", answer)
    assert check.status == "fail"
    assert "not registered: verl 0.8.0, expected >=0.9.1,<0.10 -> repair that" in check.line()


def test_importing_the_doctor_imports_no_big_library():
    libraries = {"torch", "verl", "ray", "transfer_queue"}
    script = f"import sys, dataflex_rl.commands.doctor; print(sorted({libraries} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
