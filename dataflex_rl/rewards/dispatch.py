"""The verifier of the study's tasks and benchmarks: `data_source` names one of them, and so its verifier.

verl loads it by `reward.custom_reward_function.path=pkg://dataflex_rl.rewards.dispatch` and `name=compute_score`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from dataflex_rl.errors import unknown
from dataflex_rl.rewards import choice, knights, math
from dataflex_rl.rewards.answer import Result

VERIFIERS: dict[str, ModuleType] = {"math": math, "knights": knights, "choice": choice}

# data_source -> verifier; training sources first, then the benchmarks
SOURCES = {
    **dict.fromkeys(("gsm8k", "deepscaler", "dapo_math_17k", "text_math"), "math"),
    **dict.fromkeys(("knights_and_knaves", "text_logic"), "knights"),
    **dict.fromkeys(("sciq", "text_science"), "choice"),
    **dict.fromkeys(("math500", "aime24", "olympiadbench", "minerva_math"), "math"),
    "kk_hard": "knights",
    **dict.fromkeys(("bbh_logical_deduction", "bbh_tracking", "zebra_logic_mc"), "choice"),
    **dict.fromkeys(("gpqa_diamond", "mmlu_pro_chemistry", "mmlu_pro_physics"), "choice"),
    **dict.fromkeys(("text_arithmetic", "text_equations", "text_legs", "text_products", "text_word_problems"), "math"),
    **dict.fromkeys(("text_knights2", "text_knights3", "text_knights5"), "knights"),
    "text_order": "choice",
    **dict.fromkeys(("text_elements", "text_isotopes", "text_molar_mass"), "choice"),
}


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **options: Any,
) -> Result:
    """Grade one response with the verifier of its source, which takes its options from those given and leaves others.

    Raises:
        ConfigError: an unknown data_source, or a gold answer that its verifier cannot read.
    """
    result: Result = verifier(data_source).compute_score(data_source, solution_str, ground_truth, extra_info, **options)
    return result


def verifier(data_source: str) -> ModuleType:
    """Return the module that grades a source.

    Raises:
        ConfigError: an unknown source.
    """
    if not isinstance(data_source, str) or data_source not in SOURCES:
        raise unknown("data_source", data_source, SOURCES)
    return VERIFIERS[SOURCES[data_source]]
