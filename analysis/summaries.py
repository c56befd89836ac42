"""Summary scores over benchmarks: domain means, domain-balanced average, six, macro, micro.

A missing benchmark makes its domain and every summary over it missing (NaN); 0.0 is a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from analysis.benchmarks import SIX, Floats

DOMAIN_BALANCED = "domain_balanced"


def domain_scores(score_K: Floats, domain_K: Sequence[str], domains: Sequence[str]) -> dict[str, Floats]:
    """Give each domain's mean over its benchmarks; K is the last axis and is reduced. No benchmark: NaN."""
    result = {}
    for domain in domains:
        columns = [k for k, d in enumerate(domain_K) if d == domain]
        result[domain] = (
            np.asarray(score_K[..., columns].mean(axis=-1)) if columns else np.full(score_K.shape[:-1], np.nan)
        )
    return result


def domain_balanced(by_domain: Mapping[str, Floats]) -> Floats:
    """Give the mean of the domain scores: each domain counts the same, however many benchmarks it has."""
    return np.asarray(np.mean(np.stack(list(by_domain.values())), axis=0))


def six(score_K: Floats, names: Sequence[str]) -> Floats:
    """Give the math-heavy six-benchmark mean (five math benchmarks and gpqa_diamond); NaN where one is not evaluated.

    In an evaluation with `math` and without `math500` (the published summary layout) `math` takes its place.
    """
    expected = ["math" if b == "math500" and "math500" not in names and "math" in names else b for b in SIX]
    if any(b not in names for b in expected):
        return np.full(score_K.shape[:-1], np.nan)
    return np.asarray(score_K[..., [list(names).index(b) for b in expected]].mean(axis=-1))


def macro(score_K: Floats) -> Floats:
    """Give the plain mean over all benchmarks."""
    return np.asarray(score_K.mean(axis=-1))


def micro(score_K: Floats, items_K: Sequence[int | None]) -> Floats:
    """Give the mean over all items pooled; NaN where a benchmark's number of items is unknown."""
    if any(n is None for n in items_K):
        return np.full(score_K.shape[:-1], np.nan)
    weight_K = np.asarray(items_K, dtype=np.float64)
    return np.asarray((score_K * weight_K).sum(axis=-1) / weight_K.sum())


def all_summaries(
    score_K: Floats,
    names: Sequence[str],
    domain_K: Sequence[str],
    items_K: Sequence[int | None],
    domains: Sequence[str],
) -> dict[str, Floats]:
    """Give every summary and every domain score by name, the primary one first; K is reduced.

    macro and micro carry the number of benchmarks in their names (macro12, micro12 in the study's evaluation).
    """
    by_domain = domain_scores(score_K, domain_K, domains)
    return {
        DOMAIN_BALANCED: domain_balanced(by_domain),
        "six": six(score_K, names),
        f"macro{len(names)}": macro(score_K),
        f"micro{len(names)}": micro(score_K, items_K),
        **{_domain_name(d, names): v for d, v in by_domain.items() if not _is_benchmark(d, names, domain_K)},
    }


def _domain_name(domain: str, names: Sequence[str]) -> str:
    """Name a domain's score; a domain that shares its name with one of several benchmarks in it is marked."""
    return f"{domain} (domain)" if domain in names else domain


def _is_benchmark(domain: str, names: Sequence[str], domain_K: Sequence[str]) -> bool:
    """Say whether a domain holds one benchmark of the same name: its score is that benchmark's row."""
    return [b for b, d in zip(names, domain_K, strict=True) if d == domain] == [domain]


def why_missing(summary: str, names: Sequence[str], items_K: Sequence[int | None], domain_K: Sequence[str]) -> str:
    """Say why a summary that is NaN everywhere cannot be computed."""
    if summary == "six":
        absent = [b for b in SIX if b not in names]
        return f"six-benchmark summary needs {', '.join(absent)}, not evaluated here" if absent else "a cell is missing"
    if summary.startswith("micro") and any(n is None for n in items_K):
        return "micro average needs item counts, unknown for " + ", ".join(
            b for b, n in zip(names, items_K, strict=True) if n is None
        )
    if summary == DOMAIN_BALANCED or summary not in domain_K:
        return "a benchmark or domain is missing"
    return f"a {summary} benchmark is missing"
