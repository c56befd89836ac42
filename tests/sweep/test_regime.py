"""Less data and wrong labels: how many, which, and the same for every method."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from dataflex_rl.errors import ConfigError
from dataflex_rl.regime import kept_rows, mislabelled, regime_name, write_regime
from dataflex_rl.rewards import knights
from dataflex_rl.seeding import dataset_fingerprint


@pytest.mark.parametrize(
    ("fraction", "noise", "name"),
    [(1.0, 0.0, "full"), (0.25, 0.0, "data25"), (1, 0.2, "noise20"), (0.5, 0.125, "data50-noise12.5")],
)
def test_a_regime_is_named_in_percent(fraction: float, noise: float, name: str) -> None:
    assert regime_name(OmegaConf.create({"regime": {"data_fraction": fraction, "label_noise": noise}})) == name
    assert regime_name(OmegaConf.create({})) == "full"


@pytest.mark.parametrize(
    "settings", [{"data_fraction": 0}, {"data_fraction": 1.5}, {"label_noise": 1}, {"label_noise": "a"}]
)
def test_shares_out_of_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=f"regime.{next(iter(settings))}"):
        regime_name(OmegaConf.create({"regime": settings}))


def test_each_domain_keeps_its_share() -> None:
    domains = ["a"] * 8 + ["b"] * 4 + ["c"]
    keys = [f"k{i}" for i in range(13)]
    kept = kept_rows(keys, domains, 0.25, seed=0)
    # 8 / 4 = 2 of a, 4 / 4 = 1 of b; round(1 / 4) = 0, but at least 1 of c
    assert sorted(domains[row] for row in kept) == ["a", "a", "b", "c"]
    assert kept == sorted(kept)
    assert kept_rows(keys, domains, 1.0, seed=0) == list(range(13))


@given(st.permutations(range(12)), st.integers(0, 5))
def test_what_is_kept_depends_on_content_and_seed_alone(order: list[int], seed: int) -> None:
    keys, domains = [f"k{i}" for i in range(12)], ["a", "b"] * 6
    kept = {keys[row] for row in kept_rows(keys, domains, 0.5, seed)}
    shuffled = [keys[i] for i in order]
    again = {shuffled[row] for row in kept_rows(shuffled, [domains[i] for i in order], 0.5, seed)}
    assert kept == again


def test_wrong_labels_are_wrong_and_of_the_same_source() -> None:
    models = [{"style": "rule", "ground_truth": str(i % 5)} for i in range(20)]
    models += [{"style": "rule", "ground_truth": letter} for letter in "ABCDABCDAB"]
    sources, keys = ["x"] * 20 + ["y"] * 10, [f"k{i}" for i in range(30)]
    noisy = mislabelled(models, keys, sources, 0.2, seed=3)
    changed = [row for row in range(30) if noisy[row] != models[row]]
    assert len(changed) == 6  # 20 x 0.2 + 10 x 0.2
    assert sum(sources[row] == "x" for row in changed) == 4
    for row in changed:
        assert noisy[row]["ground_truth"] in ("01234" if sources[row] == "x" else "ABCD")
        assert noisy[row]["style"] == "rule"
    assert mislabelled(models, keys, sources, 0.2, seed=4) != noisy
    assert mislabelled(models, keys, sources, 0.0, seed=3) == models


def test_wrong_knights_and_knaves_are_the_same_people_in_other_roles() -> None:
    people = [("Ann", "Bob"), ("Cy", "Di", "Ed")]
    golds = [knights.gold_text(dict.fromkeys(people[row % 2], True)) for row in range(400)]
    models, keys = [{"ground_truth": gold} for gold in golds], [f"k{row}" for row in range(400)]
    noisy = [model["ground_truth"] for model in mislabelled(models, keys, ["kk_hard"] * 400, 0.5, seed=0)]
    changed = [row for row in range(400) if noisy[row] != golds[row]]
    assert len(changed) == 200
    for row in changed:
        assert tuple(knights.parse_gold(noisy[row])) == people[row % 2]  # the same names in the same order
        assert knights.compute_score("kk_hard", knights.state(noisy[row]), golds[row])["score"] == 0
    # 2 people can be wrong in 2^2 - 1 ways, 3 people in 2^3 - 1; with about 100 draws each comes up
    assert len({noisy[row] for row in changed}) == 3 + 7
    again = mislabelled(models[::-1], keys[::-1], ["kk_hard"] * 400, 0.5, seed=0)
    assert [model["ground_truth"] for model in again][::-1] == noisy


def test_a_wrong_answer_is_not_the_right_one_in_another_spelling() -> None:
    models = [{"ground_truth": answer} for answer in ("0.5", "1/2", "3", "3.0")]
    for seed in range(8):
        noisy = mislabelled(models, list("abcd"), ["gsm8k"] * 4, 0.99, seed)
        halves, threes = {"0.5", "1/2"}, {"3", "3.0"}
        assert [model["ground_truth"] in threes for model in noisy] == [True, True, False, False]
        assert [model["ground_truth"] in halves for model in noisy] == [False, False, True, True]
    with pytest.raises(ConfigError, match="every answer of data source 'gsm8k' is the same"):
        mislabelled(models[:2], list("ab"), ["gsm8k"] * 2, 0.99, seed=0)


def test_a_source_with_one_answer_cannot_be_mislabelled() -> None:
    with pytest.raises(ConfigError, match="every answer of data source 'x' is the same"):
        mislabelled([{"ground_truth": "1"}] * 4, list("abcd"), ["x"] * 4, 0.5, seed=0)


def test_the_file_keeps_columns_and_types(tmp_path: Path) -> None:
    rows = [
        {
            "prompt": [{"role": "user", "content": f"q{i}"}],
            "data_source": "x",
            "domain": "math",
            "reward_model": {"style": "rule", "ground_truth": str(i)},
            "extra_info": {"index": i},
        }
        for i in range(8)
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "all.parquet")
    out = [tmp_path / f"{n}.parquet" for n in range(3)]
    for path, seed in zip(out, (0, 0, 1), strict=True):
        write_regime([tmp_path / "all.parquet"], path, column="prompt", fraction=0.5, noise=0.25, seed=seed)
    frame = pd.read_parquet(out[0])
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == 4  # 8 / 2
    wrong = sum(r["ground_truth"] != p[0]["content"][1:] for r, p in zip(frame.reward_model, frame.prompt, strict=True))
    assert wrong == 1  # 4 / 4
    prints = [dataset_fingerprint(path) for path in out]
    assert prints[0] == prints[1] != prints[2]
