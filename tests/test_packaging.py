"""The wheel carries the configuration and works from any folder; documents say what is on the disk."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dataflex_rl import cli
from tests.host.training import environment

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_carries_configuration_and_sweeps(wheel: Path) -> None:
    for folder in ("conf", "sweeps"):
        ours = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.yaml")}
        theirs = {
            str(path.relative_to(wheel / "dataflex_rl")) for path in (wheel / "dataflex_rl" / folder).rglob("*.yaml")
        }
        assert ours == theirs
    assert (wheel / "analysis" / "tables").is_dir()
    entry_points = next(wheel.glob("*.dist-info/entry_points.txt")).read_text()
    assert "[verl.plugins]\ndataflex_rl = dataflex_rl.plugin" in entry_points


def test_an_installed_wheel_composes_from_any_folder(wheel: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dataflex_rl.run", "method=maxvar", "dry_run=json", f"runs_dir={tmp_path}"],
        cwd=tmp_path, env=environment(PYTHONPATH=str(wheel)), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["method"] == "maxvar"
    where = subprocess.run(
        [sys.executable, "-m", "dataflex_rl.cli", "where"],
        cwd=tmp_path, env=environment(PYTHONPATH=str(wheel)), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert where.stdout == f"CONF={wheel}/dataflex_rl/conf\n"


def test_documents_fit_the_disk() -> None:
    spec = importlib.util.spec_from_file_location("check_docs", ROOT / "scripts" / "check_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main() == 0
    wrong = "see conf/nothing.yaml, `make nothing` and dataflex-rl nothing\n| `mixer` | shares | none |\n"
    assert [line.split(":")[0] for line in module.problems(wrong)] == [
        "no such path", "no such target", "no such command", "group mixer",
    ]  # fmt: skip


def test_every_command_has_a_main(capsys: pytest.CaptureFixture[str]) -> None:
    for module, _ in cli.COMMANDS.values():
        assert importlib.util.find_spec(module) is not None, module
    assert cli.main([]) == 0
    assert "plan-seeds" in capsys.readouterr().out
    assert cli.main(["trian"]) == 2
    assert "unknown command 'trian'; known: run," in capsys.readouterr().err
