"""The bench runs, agrees with its plain reference, and counts memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_quick_bench_agrees_with_the_reference(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    command = [sys.executable, str(ROOT / "scripts" / "bench.py"), "--quick", "--repeats", "1", "--json", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    rows = json.loads(out.read_text())["rows"]
    # 8 methods, 2 sizes, 2 group sizes, each equal to the padded reference
    assert len(rows) == 32
    assert [row for row in rows if not row["agrees"]] == []
    assert all(row["apply_s"] > 0 and row["ratio"] > 0 for row in rows)
    assert "difffilter" in ran.stdout
    selectors = json.loads(out.read_text())["prompt_selectors"]
    assert len(selectors) == 8
    assert all(
        row["mean_ms"] > 0 and 30 < row["saved_bytes_per_prompt"] < row["bytes_per_prompt"] < 200 for row in selectors
    )
    assert "hierarchical" in ran.stdout


def test_memory_is_what_is_promised(tmp_path: Path) -> None:
    # 1.4 million tokens: a token method needs 3 float32 per token with its result, a group method none before it
    out = tmp_path / "bench.json"
    command = [sys.executable, str(ROOT / "scripts" / "bench.py"), "--sizes", "4096", "--groups", "8", "--repeats", "1"]
    command += ["--methods", "maxvar", "ar", "--reference-up-to", "0", "--prompts", "20000", "--json", str(out)]
    subprocess.run(command, capture_output=True, check=True)
    by_method = {row["method"]: row for row in json.loads(out.read_text())["rows"]}
    assert by_method["maxvar"]["apply_f32_per_token"] < 0.2
    assert by_method["maxvar"]["total_f32_per_token"] < 1.3
    assert by_method["ar"]["total_f32_per_token"] < 3.2
