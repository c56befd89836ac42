"""`dataflex-rl plot-mix`: what it draws, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.plots.mixer import domains, draw, main, series, thinned

LINES: list[dict[str, Any]] = [
    {
        "step": step,
        "data": {
            "dataflex/share_target/math": 0.5 + 0.1 * step,
            "dataflex/share_target/logic": 0.5 - 0.1 * step,
            "dataflex/share_realised/math": 0.6,
            "dataflex/share_realised/logic": 0.4,
            "dataflex/mixer_statistic/math": 0.1 * step,
            "dataflex/mixer_statistic/logic": None if step == 2 else 0.3,
        },
    }
    for step in (1, 2, 3)
]


def record(folder: Path, lines: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_figure_holds_every_series() -> None:
    assert domains(LINES) == ["logic", "math"]
    shares, statistic = draw(LINES, "reward_gap, seed 0").axes
    # per domain, sorted: target, realised; then the statistic, without the step that has none
    assert [list(line.get_ydata()) for line in shares.lines] == [
        pytest.approx([0.4, 0.3, 0.2]), pytest.approx([0.4, 0.4, 0.4]),
        pytest.approx([0.6, 0.7, 0.8]), pytest.approx([0.6, 0.6, 0.6]),
    ]  # fmt: skip
    assert [list(line.get_xdata()) for line in statistic.lines] == [[1, 3], [1, 2, 3]]


def test_many_points_become_means_of_stretches() -> None:
    assert thinned([1, 2, 3, 4, 5], [1.0, 3.0, 5.0, 7.0, 9.0], 3) == ([1.5, 3.5, 5.0], [2.0, 6.0, 9.0])
    assert thinned([1, 2], [1.0, 3.0], 3) == ([1.0, 2.0], [1.0, 3.0])
    assert thinned([], [], 3) == ([], [])
    assert series(LINES, "dataflex/mixer_statistic/logic") == ([1, 3], [0.3, 0.3])


def test_it_writes_png_and_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = record(tmp_path / "run", LINES)
    assert main([str(run)]) == 0
    assert capsys.readouterr().out.splitlines() == [str(run / "mix.png"), str(run / "mix.svg")]
    assert (run / "mix.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    svg = (run / "mix.svg").read_text()
    assert "<svg" in svg
    assert all(text in svg for text in ("math", "logic", "share of prompts", "statistic of the mixer"))
    first = (run / "mix.png").read_bytes()
    assert main([str(run), "--out", str(tmp_path / "elsewhere")]) == 0
    assert (tmp_path / "elsewhere" / "mix.png").read_bytes() == first


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no finished step in metrics.jsonl"),
        ([{"step": 1, "data": {"actor/loss": 1.0}}], "expected a run with a mixer"),
    ],
)
def test_a_run_without_a_mixer_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[dict[str, Any]], message: str
) -> None:
    assert main([str(record(tmp_path / "run", lines))]) == 2
    assert message in capsys.readouterr().err


def test_no_record_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 2
    assert "no such run record" in capsys.readouterr().err
