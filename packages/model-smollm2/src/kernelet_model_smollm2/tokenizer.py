"""Rebuilds the Hugging Face tokenizer files from what a GGUF file says about its tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelet.errors import ModelNotFoundError

CONTROL = 3
"""``token_type`` of special tokens; 1 is a normal token."""
NORMAL = 1


def special_tokens(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The special tokens in the form of ``added_tokens`` of a tokenizer.json, by id."""
    kinds = zip(fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"], strict=True)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return [{"id": index, "content": token} | flags for index, (token, kind) in enumerate(kinds) if kind == CONTROL]


def tokenizer_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A tokenizer.json: byte-level BPE that splits digits one by one, as the pre-tokenizer ``smollm`` does.

    Raises:
        ModelNotFoundError: if the file names another kind of tokenizer.
    """
    kind = (fields["tokenizer.ggml.model"], fields["tokenizer.ggml.pre"])
    if kind != ("gpt2", "smollm"):
        raise ModelNotFoundError(f"the model file has a tokenizer of kind {kind}; ('gpt2', 'smollm') was expected")
    unknown = set(fields["tokenizer.ggml.token_type"]) - {NORMAL, CONTROL}
    if unknown:
        raise ModelNotFoundError(f"the model file has tokens of the unexpected types {sorted(unknown)}")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special_tokens(fields),
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(fields["tokenizer.ggml.tokens"])},
            "merges": [merge.split(" ", 1) for merge in fields["tokenizer.ggml.merges"]],
        },
    }


def tokenizer_config(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A tokenizer_config.json with the chat template.

    The class is the generic one: ``GPT2Tokenizer`` would replace the pre-tokenizer by one that keeps digits together.
    """
    tokens = fields["tokenizer.ggml.tokens"]
    added = {str(token.pop("id")): token for token in special_tokens(fields)}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": added,
        "bos_token": tokens[fields["tokenizer.ggml.bos_token_id"]],
        "eos_token": tokens[fields["tokenizer.ggml.eos_token_id"]],
        "unk_token": tokens[fields["tokenizer.ggml.unknown_token_id"]],
        "pad_token": tokens[fields["tokenizer.ggml.padding_token_id"]],
        "add_bos_token": fields["tokenizer.ggml.add_bos_token"],
        "add_prefix_space": fields["tokenizer.ggml.add_space_prefix"],
        "clean_up_tokenization_spaces": False,
        "model_max_length": fields["llama.context_length"],
        "chat_template": fields["tokenizer.chat_template"],
    }
