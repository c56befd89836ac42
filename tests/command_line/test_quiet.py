"""What is muted stands in one table."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from dataflex_rl.quiet import MUTED, heard

PACKAGE = Path(__file__).parents[2] / "dataflex_rl"
MUTES = re.compile(
    r"filterwarnings|simplefilter|setLevel\(|redirect_std|log_to_driver|logging_level|stderr=subprocess"
    r"\.DEVNULL|disable_progress|capture_output=True|silent=True|RAY_DEDUP_LOGS|PYTHONWARNINGS|logging\.disable"
)


def test_each_module_that_mutes_is_in_the_table_and_no_other() -> None:
    found = set()
    for file in PACKAGE.rglob("*.py"):
        if MUTES.search(file.read_text()):
            found.add(".".join(file.relative_to(PACKAGE).with_suffix("").parts))
    named = {entry.module for entry in MUTED}
    covers = {module: {name for name in named if f"{module}.".startswith(f"{name}.")} for module in found}
    assert [module for module, names in covers.items() if not names] == []
    assert set().union(*covers.values()) == named
    assert all(entry.what and entry.why for entry in MUTED)


def test_verl_keeps_its_own_log_level() -> None:
    sets = re.compile(r"VERL_LOGGING_LEVEL\W+(?:ERROR|WARN|CRITICAL)")
    assert not [file for file in PACKAGE.rglob("*.py") if sets.search(file.read_text())]


def test_prints_and_warnings_are_heard_once_without_what_is_usual() -> None:
    with heard() as said:
        for _ in range(2):
            print("NOTICE: You have both enabled in-reward kl and kl loss.")
            print("[validate_config] All configuration checks passed successfully!")
            print("Disabled critic as algorithm.adv_estimator != gae. If it is not intended, ...")
            warnings.warn("the batch is cut\nsecond line", stacklevel=1)
            warnings.warn("torchtitan engine is not available: x", stacklevel=1)
    assert said == ["NOTICE: You have both enabled in-reward kl and kl loss.", "the batch is cut"]
