"""Byte-level BPE with the pre-tokenizer `smollm`, written from the description of llama.cpp: slow and plain."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import regex

DIGIT = r"\p{N}"
WORD = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def byte_alphabet() -> list[str]:
    """The 256 characters of byte-level BPE, as GPT-2 has them: printable bytes are themselves, others follow 255."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


class Reference:
    """Ids of a text: special tokens first, then words, then the merge with the lowest rank until none fits.

    A byte that has no token (there are some that no training text had) is dropped.
    """

    def __init__(self, tokens: Sequence[str], merges: Sequence[str], special: Sequence[str]) -> None:
        self.ids = {token: index for index, token in enumerate(tokens)}
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
        self.special = special
        self.alphabet = byte_alphabet()

    def knows(self, text: str) -> bool:
        """Whether every byte has a token, so that a text comes back as it was."""
        return all(self.alphabet[byte] in self.ids for byte in text.encode())

    def encode(self, text: str) -> list[int]:
        found: list[int] = []
        for part in regex.splititer("(" + "|".join(map(regex.escape, self.special)) + ")", text):
            if part in self.special:
                found.append(self.ids[part])
            else:
                found += [index for word in words(part) for index in self.encode_word(word)]
        return found

    def encode_word(self, word: str) -> list[int]:
        symbols = [self.alphabet[byte] for byte in word.encode() if self.alphabet[byte] in self.ids]
        while pairs := [pair for pair in pairwise(symbols) if pair in self.ranks]:
            symbols = merge_all(symbols, *min(pairs, key=self.ranks.__getitem__))
        return [self.ids[symbol] for symbol in symbols]


def words(text: str) -> list[str]:
    """Splits off every digit, then each piece in between as GPT-2 does."""
    pieces: list[str] = []
    for piece in regex.splititer(f"({DIGIT})", text):
        pieces += regex.findall(WORD, piece) if piece else []
    return pieces


def merge_all(symbols: list[str], first: str, second: str) -> list[str]:
    merged: list[str] = []
    for symbol in symbols:
        if merged and merged[-1] == first and symbol == second:
            merged[-1] = first + second
        else:
            merged.append(symbol)
    return merged
