"""Less data and wrong labels: how many, which, and the same for every method."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from dataflex_rl.config.regime import regime_name, write_regime
from dataflex_rl.config.regime_rows import identity, kept_rows, mislabelled
from dataflex_rl.errors import ConfigError
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


@pytest.mark.parametrize(
    ("sizes", "fraction", "kept"),
    [
        ((8, 4), 0.25, [2, 1]),
        ((8, 4, 1), 0.25, [1, 1, 1]),  # round(13 / 4) = 3 of 3 domains: one each
        ((8, 4, 1), 1.0, [8, 4, 1]),
        ((7, 2, 1), 0.5, [3, 1, 1]),  # 5 of 3.5, 1, 0.5 rows: rounded down 3, 1, 0, and each domain has one
        ((100, 49), 0.29, [29, 14]),  # round(43.21) = 43 of 29 and 14.21
        ((1,) * 20, 0.25, [0] * 15 + [1] * 5),
        ((5,) * 20, 0.5, [2] * 10 + [3] * 10),
    ],
)
def test_the_share_is_kept_in_all_and_in_proportion(sizes: tuple[int, ...], fraction: float, kept: list[int]) -> None:
    domains = [f"d{number}" for number, size in enumerate(sizes) for _ in range(size)]
    rows = kept_rows([f"k{i}" for i in range(len(domains))], domains, fraction, seed=0)
    assert rows == sorted(set(rows))
    found = [sum(domains[row] == f"d{number}" for row in rows) for number in range(len(sizes))]
    assert (sorted(found) if len(sizes) == 20 else found) == kept


def test_the_noise_is_exact_over_small_sources() -> None:
    models = [{"ground_truth": str(i)} for i in range(60)]
    noisy = mislabelled(models, [f"k{i}" for i in range(60)], [f"s{i % 20}" for i in range(60)], 0.1, seed=0)
    assert sum(a != b for a, b in zip(models, noisy, strict=True)) == 6  # 60 x 0.1, although 3 x 0.1 rounds to 0


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


@given(st.permutations(range(12)), st.integers(0, 3))
def test_a_prompt_that_occurs_twice_is_told_apart_by_its_answer(order: list[int], seed: int) -> None:
    prompts = [[{"role": "user", "content": f"q{i // 3}"}] for i in range(12)]
    models = [{"ground_truth": str(i)} for i in range(12)]

    def drawn(rows: list[int]) -> dict[str, str]:
        keys = [identity(prompts[row], models[row]) for row in rows]
        noisy = mislabelled([models[row] for row in rows], keys, ["x"] * 12, 0.5, seed)
        return {models[row]["ground_truth"]: model["ground_truth"] for row, model in zip(rows, noisy, strict=True)}

    assert drawn(order) == drawn(list(range(12)))


def rows(count: int, **model: object) -> list[dict[str, object]]:
    common = {"data_source": "x", "domain": "x"}
    return [
        {"prompt": [{"role": "user", "content": f"q{i}"}], **common, "reward_model": {"ground_truth": str(i), **model}}
        for i in range(count)
    ]


@pytest.mark.parametrize("truth", [["1"], {"target": ["1"]}, 1, None])
def test_less_data_needs_no_answer_that_is_a_text(tmp_path: Path, truth: object) -> None:
    pd.DataFrame(rows(8, ground_truth=truth)).to_parquet(tmp_path / "a.parquet")
    write_regime([tmp_path / "a.parquet"], tmp_path / "b.parquet", column="prompt", fraction=0.5, noise=0, seed=0)
    assert len(pd.read_parquet(tmp_path / "b.parquet")) == 4


def test_answers_that_are_lists_are_exchanged_whole(tmp_path: Path) -> None:
    pd.DataFrame([row for i in range(4) for row in rows(1, ground_truth=[str(i), "a"])]).to_parquet(tmp_path / "a")
    write_regime([tmp_path / "a"], tmp_path / "b", column="prompt", fraction=1.0, noise=0.5, seed=0)
    found = [list(model["ground_truth"]) for model in pd.read_parquet(tmp_path / "b").reward_model]
    assert sum(truth != [str(i), "a"] for i, truth in enumerate(found)) == 2
    assert all(truth[0] in "0123" and truth[1] == "a" for truth in found)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("j.jsonl", "j.jsonl: a regime is drawn from parquet files"),
        ("none.parquet", "none.parquet: cannot be read as parquet"),
        ("bad.parquet", "bad.parquet: cannot be read as parquet"),
        ("kinds.parquet", "columns of different types"),
        ("no_model.parquet", "no column reward_model, which a regime needs"),
        ("null.parquet", "a row of data source 'x' has ground_truth None; expected an answer"),
        ("no_key.parquet", "a row of data source 'x' has ground_truth None; expected an answer"),
        ("ours.parquet", r"a row of data source 'gsm8k' has ground_truth 3; expected a text"),
    ],
)
def test_what_a_regime_cannot_be_drawn_from_is_one_line(tmp_path: Path, second: str, said: str) -> None:
    written = {
        "kinds": rows(4, ground_truth=1),
        "no_model": [{key: row[key] for key in ("prompt", "data_source")} for row in rows(4)],
        "null": [{**row, "reward_model": row["reward_model"] if i else None} for i, row in enumerate(rows(4))],
        "no_key": [{**row, "reward_model": {"style": "rule"}} for row in rows(4)],
        "ours": [{**row, "data_source": "gsm8k", "reward_model": {"ground_truth": 3}} for row in rows(4)],
    }
    pd.DataFrame(rows(4)).to_parquet(tmp_path / "a.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1xx")
    (tmp_path / "j.jsonl").write_text("{}")
    for name, content in written.items():
        pd.DataFrame(content).to_parquet(tmp_path / f"{name}.parquet")
    files = (
        [tmp_path / second] if second.startswith(("ours", "no_key")) else [tmp_path / "a.parquet", tmp_path / second]
    )
    with pytest.raises(ConfigError, match=said) as caught:
        write_regime(files, tmp_path / "o.parquet", column="prompt", fraction=1.0, noise=0.25, seed=0)
    assert "\n" not in str(caught.value)


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
