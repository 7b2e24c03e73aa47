"""SentencePiece's merging tokenizer (kind ``llama``): pieces with scores become merges, unknown letters bytes."""

from __future__ import annotations

from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.tokenizer.vocabulary import NORMAL, Vocabulary

SPACE = "\u2581"
"""Stands for a space in pieces."""


def parts(vocabulary: Vocabulary) -> dict[str, Any]:
    """What tokenizer.json says of such a tokenizer.

    Raises:
        UnsupportedModelError: the file has no scores.
    """
    if not vocabulary.scores:
        raise UnsupportedModelError(
            "the file has no tokenizer.ggml.scores, which a tokenizer of the kind 'llama' needs"
        )
    prefix = vocabulary.flag("add_space_prefix", otherwise=True)
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    normalizers = [{"type": "Prepend", "prepend": SPACE}, replace] if prefix else [replace]
    decoders: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    decoders += [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    unknown = vocabulary.role("unknown")
    proper = vocabulary.proper()
    return {
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": None,
        "post_processor": vocabulary.post_processor(bos=True),
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": vocabulary.tokens[unknown] if unknown is not None else None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": proper,
            "merges": merges(vocabulary, proper),
        },
    }


def merges(vocabulary: Vocabulary, proper: dict[str, int]) -> list[tuple[str, str]]:
    """Every way to make a piece of two, the pieces with the highest scores first."""
    found: list[tuple[float, int, int, str, str]] = []
    for index, piece in enumerate(vocabulary.tokens):
        if vocabulary.types[index] != NORMAL or piece not in proper:
            continue
        for place in range(1, len(piece)):
            left, right = piece[:place], piece[place:]
            if left in proper and right in proper:
                found.append((-vocabulary.scores[index], proper[left], proper[right], left, right))
    found.sort()
    return [(left, right) for *_, left, right in found]
