"""Block keys: what a full block of a request is a function of.

A key is a hash over the key of the block before, the block's tokens, and tagged extras (cache salt, media). The
encoding is unambiguous: fixed-width tokens and length-prefixed fields, so no two different contents encode alike. A key
covers full blocks only, so the tokens that it was made from are final.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from kernelet.request.request import EngineRequest

DIGEST_BYTES = 32

BlockKey: TypeAlias = bytes
"""Hash of a block and of everything before it."""

Extra: TypeAlias = tuple[str, tuple[bytes | str | int, ...]]
"""A tag and its values."""

ROOT: BlockKey = b""
"""Stands for "no block before"."""

_ENCODER = msgspec.msgpack.Encoder()


def block_key(parent: BlockKey, token_ids: Sequence[int], extras: Sequence[Extra] = ()) -> BlockKey:
    """The key of one full block; a pure function of its arguments."""
    tokens = struct.pack(f"<{len(token_ids)}q", *token_ids)
    return hashlib.blake2b(_ENCODER.encode((parent, tokens, extras)), digest_size=DIGEST_BYTES).digest()


def block_extras(request: EngineRequest, start: int, end: int) -> list[Extra]:
    """What beside tokens [start, end) decides a block's content; the chain carries the salt on from the first block."""
    extras: list[Extra] = []
    if start == 0 and request.cache_salt:
        extras.append(("salt", (request.cache_salt,)))
    extras.extend(
        ("segment", (segment.kind, segment.content_hash, segment.offset - start, segment.length))
        for segment in request.segments
        if segment.offset < end and segment.offset + segment.length > start
    )
    return extras


class KeyChain:
    """The keys of one request's full blocks, computed when they are asked for and as far as tokens are known."""

    def __init__(self, request: EngineRequest, block_size: int) -> None:
        self._request = request
        self._block_size = block_size
        self._keys: list[BlockKey] = []

    def upto(self, token_ids: Sequence[int], num_blocks: int) -> Sequence[BlockKey]:
        """Keys of the first ``num_blocks`` blocks, perhaps more.

        Args:
            token_ids: The request's tokens; may only have grown since the last call.
            num_blocks: Blocks asked for; all of them full.
        """
        while len(self._keys) < num_blocks:
            start = len(self._keys) * self._block_size
            end = start + self._block_size
            if end > len(token_ids):
                raise ValueError(f"block {len(self._keys)} is not full: {len(token_ids)} tokens of {end}")
            parent = self._keys[-1] if self._keys else ROOT
            self._keys.append(block_key(parent, token_ids[start:end], block_extras(self._request, start, end)))
        return self._keys
