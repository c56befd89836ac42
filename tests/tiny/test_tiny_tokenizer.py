import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer
from verl.utils.tokenizer.chat_template import initialize_system_prompt, initialize_turn_separator

from dataflex_rl.data.tiny.tokenizer import build_tokenizer

USER = [{"role": "user", "content": "m1:3+4"}]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    build_tokenizer().save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


def test_ids_are_fixed(tokenizer):
    assert len(tokenizer) == 99  # 4 special tokens and ASCII 32..126
    assert [tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id] == [
        0,
        1,
        2,
        3,
    ]
    # " " is the first character: id 4. "0" is ASCII 48: 4 + 48 - 32 = 20
    assert tokenizer(" 0~", add_special_tokens=False)["input_ids"] == [4, 20, 98]


def test_the_chat_template_marks_the_user_and_asks_with_an_equals_sign(tokenizer):
    ids = tokenizer.apply_chat_template(USER, add_generation_prompt=True, tokenize=True, return_dict=False)
    # <s> m 1 : 3 + 4 =   ->   4 + ASCII - 32, e.g. "m" 109 -> 81
    assert ids == [1, 81, 21, 30, 23, 15, 24, 33]
    as_dict = tokenizer.apply_chat_template(USER, add_generation_prompt=True, tokenize=True, return_dict=True)
    assert as_dict["input_ids"] == ids
    assert tokenizer.decode(ids, skip_special_tokens=True) == "m1:3+4="


def test_an_answered_conversation_is_the_prompt_the_answer_and_the_end(tokenizer):
    messages = [*USER, {"role": "assistant", "content": "7"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    assert text == "<s>m1:3+4=7</s>"
    assert tokenizer(text)["input_ids"][-2:] == [27, 2]  # "7" is ASCII 55: 4 + 55 - 32 = 27


def test_the_template_has_no_system_prompt_and_no_turn_separator(tokenizer):
    assert initialize_system_prompt(tokenizer) == []
    assert initialize_turn_separator(tokenizer) == []


def test_a_character_outside_ascii_is_unknown(tokenizer):
    assert tokenizer("aé1", add_special_tokens=False)["input_ids"] == [69, 3, 21]


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30))
def test_ascii_text_survives_one_token_per_character(text):
    tokenizer = build_tokenizer()
    if any(token in text for token in ("<pad>", "<s>", "</s>", "<unk>")):
        text = text.replace("<", "")
    ids = tokenizer(text)["input_ids"]
    assert len(ids) == len(text)
    assert tokenizer.decode(ids) == text
