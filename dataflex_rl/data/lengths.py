"""How many tokens a prompt has, as verl counts them: the chat template with the generation prompt, nothing added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_AT_ONCE = 512  # [prompts]
_MORE = 8  # [tokens] a tokenizer may add to the characters of an ASCII text: a word boundary, marks at its ends


def overlong(
    prompts: Iterable[Any], tokenizer: Any, limit: int, settings: Mapping[str, Any] | None = None
) -> dict[int, int]:
    """Return {number of the prompt: its tokens} of those that have more than `limit`.

    Args:
        prompts: chat messages, one list per prompt.
        tokenizer: a Hugging Face tokenizer with a chat template.
        limit: [tokens]
        settings: more variables of the chat template (`data.apply_chat_template_kwargs`).

    Raises:
        ValueError: the chat template refuses a prompt; with its number.
    """
    found: dict[int, int] = {}
    texts: dict[int, str] = {}
    for number, messages in enumerate(prompts):
        text = _rendered(number, messages, tokenizer, settings or {})
        if not text.isascii() or len(text) + _MORE > limit:  # else it cannot be too long: a token has a character
            texts[number] = text
        if len(texts) == _AT_ONCE:
            found |= _counted(texts, tokenizer, limit)
            texts = {}
    return found | _counted(texts, tokenizer, limit)


def _rendered(number: int, messages: Any, tokenizer: Any, settings: Mapping[str, Any]) -> str:
    from jinja2 import TemplateError

    try:
        return str(
            tokenizer.apply_chat_template(list(messages), **settings, add_generation_prompt=True, tokenize=False)
        )
    except (TemplateError, TypeError, KeyError, AttributeError, ValueError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"row {number}: the chat template refuses the prompt ({reason})") from error


def _counted(texts: Mapping[int, str], tokenizer: Any, limit: int) -> dict[int, int]:
    if not texts:
        return {}
    ids = tokenizer(list(texts.values()), add_special_tokens=False, verbose=False)["input_ids"]
    return {number: len(row) for number, row in zip(texts, ids, strict=True) if len(row) > limit}
