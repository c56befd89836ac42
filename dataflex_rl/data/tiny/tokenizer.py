"""The character tokenizer of the tiny model: printable ASCII, one token each, and four special tokens."""

from __future__ import annotations

from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

PAD, BOS, EOS, UNK = "<pad>", "<s>", "</s>", "<unk>"
CHARACTERS = tuple(chr(code) for code in range(32, 127))

# A user turn is <s> and its text; "=" asks for the answer, which ends with </s>. Other roles read like the user's.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}={{ message['content'] }}</s>"
    "{% else %}<s>{{ message['content'] }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}={% endif %}"
)


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer: 99 tokens, ids fixed (pad 0, bos 1, eos 2, unk 3, then ASCII 32 to 126).

    A character outside printable ASCII maps to <unk>. Encoding adds no special token; the chat template does.
    """
    vocab = {token: index for index, token in enumerate((PAD, BOS, EOS, UNK, *CHARACTERS))}
    core = Tokenizer(BPE(vocab=vocab, merges=[], unk_token=UNK))
    core.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        unk_token=UNK,
        padding_side="left",
        model_max_length=128,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer
