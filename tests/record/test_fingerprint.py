"""Dataset fingerprints: content of the rows, in order."""

import pandas as pd
import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.seeding import dataset_fingerprint


def rows(count=3):
    return pd.DataFrame(
        {
            "prompt": [[{"role": "user", "content": f"{i} + {i} = ?"}] for i in range(count)],
            "data_source": ["toy"] * count,
            "domain": ["math"] * count,
            "reward_model": [{"style": "rule", "ground_truth": str(2 * i)} for i in range(count)],
            "extra_info": [{"index": i} for i in range(count)],
        }
    )


def test_fingerprint_is_content_in_order(tmp_path):
    whole, again, part, rest = (tmp_path / f"{name}.parquet" for name in ("whole", "again", "part", "rest"))
    rows().to_parquet(whole)
    rows().drop(columns="extra_info").to_parquet(again, compression="gzip")
    rows()[:1].to_parquet(part)
    rows()[1:].to_parquet(rest)
    want = dataset_fingerprint(whole)
    assert len(want) == 16
    assert dataset_fingerprint(again) == want
    assert dataset_fingerprint([str(part), rest]) == want
    assert dataset_fingerprint([rest, part]) != want
    rows().to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    assert dataset_fingerprint(tmp_path / "rows.jsonl") == want


@pytest.mark.parametrize("column", ["data_source", "domain", "reward_model", "prompt"])
def test_fingerprint_sees_a_changed_cell(tmp_path, column):
    changed = rows()
    other = {"reward_model": {"style": "rule", "ground_truth": "9"}, "prompt": [{"role": "user", "content": "?"}]}
    changed[column] = [*changed[column][:2], other.get(column, "other")]
    rows().to_parquet(tmp_path / "a.parquet")
    changed.to_parquet(tmp_path / "b.parquet")
    assert dataset_fingerprint(tmp_path / "a.parquet") != dataset_fingerprint(tmp_path / "b.parquet")


def test_fingerprint_names_file_row_and_reason(tmp_path):
    path = tmp_path / "x.parquet"
    with pytest.raises(ConfigError, match=r"x\.parquet: cannot be read"):
        dataset_fingerprint(path)
    path.write_bytes(b"no parquet")
    with pytest.raises(ConfigError, match=r"x\.parquet: cannot be read"):
        dataset_fingerprint(path)
    rows().rename(columns={"prompt": "question"}).to_parquet(path)
    with pytest.raises(ConfigError, match=r"no column 'prompt'; has: question, data_source"):
        dataset_fingerprint(path)
    assert len(dataset_fingerprint(path, prompt_column="question")) == 16
    rows().assign(prompt=["a", "b", "c"]).to_parquet(path)
    with pytest.raises(ConfigError, match=r"x\.parquet: row 0: prompt is str 'a': expected chat messages"):
        dataset_fingerprint(path)
    rows(0).to_parquet(path)
    with pytest.raises(ConfigError, match=r"x\.parquet: no rows"):
        dataset_fingerprint(path)
