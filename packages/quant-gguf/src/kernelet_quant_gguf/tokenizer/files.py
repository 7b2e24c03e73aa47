"""tokenizer.json and tokenizer_config.json of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.tokenizer import sentencepiece
from kernelet_quant_gguf.tokenizer.splits import split_of
from kernelet_quant_gguf.tokenizer.vocabulary import ROLES, Vocabulary

TEMPLATE = "tokenizer.chat_template"


def tokenizer_json(vocabulary: Vocabulary) -> dict[str, Any]:
    """tokenizer.json.

    Raises:
        UnsupportedModelError: a kind of tokenizer that is not served.
    """
    kind = vocabulary.fields.get("tokenizer.ggml.model")
    if kind == "llama":
        parts = sentencepiece.parts(vocabulary)
    elif kind == "gpt2":
        parts = _byte_level(vocabulary)
    else:
        raise UnsupportedModelError(f"the file has a tokenizer of the kind {kind!r}; served are 'gpt2' and 'llama'")
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": vocabulary.added_tokens(),
        **parts,
    }


def _byte_level(vocabulary: Vocabulary) -> dict[str, Any]:
    split = split_of(vocabulary.fields.get("tokenizer.ggml.pre"))
    merges = vocabulary.fields.get("tokenizer.ggml.merges")
    if merges is None:
        raise UnsupportedModelError("the file has no tokenizer.ggml.merges, which a tokenizer of the kind 'gpt2' needs")
    return {
        "normalizer": {"type": split.normalizer} if split.normalizer else None,
        "pre_tokenizer": split.pre_tokenizer(),
        "post_processor": vocabulary.post_processor(bos=split.bos),
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": split.ignore_merges,
            "vocab": vocabulary.proper(),
            "merges": [merge.split(" ", 1) for merge in merges],
        },
    }


def tokenizer_config(vocabulary: Vocabulary) -> dict[str, Any]:
    """tokenizer_config.json, with the chat templates.

    The class is the generic one: others replace what tokenizer.json says.
    """
    added = {str(token.pop("id")): token for token in vocabulary.added_tokens()}
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": added,
        "clean_up_tokenization_spaces": False,
    }
    for role, name in ROLES.items():
        if (index := vocabulary.role(name)) is not None:
            config[role] = vocabulary.tokens[index]
    if templates := _templates(vocabulary.fields):
        config["chat_template"] = templates
    return config


def _templates(fields: Mapping[str, Any]) -> str | list[dict[str, str]] | None:
    main = fields.get(TEMPLATE)
    named = {key.removeprefix(f"{TEMPLATE}."): value for key, value in fields.items() if key.startswith(f"{TEMPLATE}.")}
    if not named:
        return main
    found = ({} if main is None else {"default": main}) | named
    return [{"name": name, "template": template} for name, template in found.items()]
