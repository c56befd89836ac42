import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from verl.trainer.ppo.reward import get_custom_reward_fn

from dataflex_rl.rewards.toy3 import compute_score


@pytest.mark.parametrize(
    ("text", "score", "pred"),
    [
        ("437", 1.0, "437"),
        ("437</s>", 1.0, "437"),
        ("437</s><pad><pad>", 1.0, "437"),
        ("</s>437", 0.0, "</s>437"),
        ("437</s>4", 0.0, "437</s>4"),
        ("437 ", 0.0, "437 "),
        (" 437", 0.0, " 437"),
        ("0437", 0.0, "0437"),
        ("4377", 0.0, "4377"),
        ("43", 0.0, "43"),
        ("４37", 0.0, "４37"),
        ("<unk>437", 0.0, "<unk>437"),
        ("", 0.0, ""),
        ("</s>", 0.0, ""),
    ],
)
def test_only_the_exact_answer_scores(text, score, pred):
    assert compute_score("math", text, "437") == {"score": score, "acc": score, "pred": pred}


def test_an_empty_response_is_wrong_even_to_an_empty_truth():
    assert compute_score("math", "</s>", "")["score"] == 0.0


@given(st.text())
def test_any_text_gets_a_grade_with_the_same_keys(text):
    result = compute_score("logic", text, "TFT", {"index": 3}, reward_router_address=None)
    assert list(result) == ["score", "acc", "pred"]
    assert result["score"] == result["acc"] == float(result["pred"] == "TFT")


def test_a_long_run_of_markers_is_stripped_in_linear_time():
    assert compute_score("math", "1" + "<pad>" * 200_000, "1")["score"] == 1.0


def test_verl_loads_the_verifier_by_package_path_and_name():
    function = {"path": "pkg://dataflex_rl.rewards.toy3", "name": "compute_score"}
    loaded = get_custom_reward_fn(OmegaConf.create({"reward": {"custom_reward_function": function}}))
    result = loaded(data_source="math", solution_str="7</s>", ground_truth="7", extra_info={"num_turns": 2})
    assert result == {"score": 1.0, "acc": 1.0, "pred": "7"}
