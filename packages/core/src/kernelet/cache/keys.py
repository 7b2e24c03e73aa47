"""Block keys: what a full block of a request is a function of. Stream keys: what any number of its tokens is.

A block key is a hash over the key of the block before, the block's tokens, and tagged extras (cache salt, media). The
encoding is unambiguous: fixed-width tokens and length-prefixed fields, so no two different contents encode alike. A key
covers full blocks only, so the tokens that it was made from are final. Block keys never leave the engine; stream keys
name keys and values for KV connectors, so they begin with all that tokens do not say: ``stream_root``.
"""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from kernelet.contracts.kv_pages import KVIdentity
from kernelet.request.request import EngineRequest, Segment

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


CHECKPOINT = 1024
"""Tokens after which the state of a stream is kept, so that a shorter key is not made from the first token on."""

SEGMENT = struct.pack("<q", -1)
"""Stands before a part of a prompt that is not text; no token is negative."""


def stream_root(identity: KVIdentity, cache_salt: str, adapter: str = "") -> bytes:
    """What every stream key of a request begins with."""
    tagged = ("identity", msgspec.structs.astuple(identity)), ("adapter", adapter), ("salt", cache_salt)
    return _ENCODER.encode(tagged)


class StreamKeys:
    """The keys of one request's first n tokens, for any n: one hash that goes over them, with its states kept."""

    def __init__(self, root: bytes, segments: Sequence[Segment] = ()) -> None:
        """Starts.

        Args:
            root: Of ``stream_root``.
            segments: Those of the request; each belongs to the keys of more tokens than lie before it.
        """
        state = hashlib.blake2b(digest_size=DIGEST_BYTES)
        state.update(struct.pack("<q", len(root)) + root)
        self._segments = sorted(segments, key=lambda segment: segment.offset)
        self._positions, self._states = [0], [state]
        self._keys: dict[int, bytes] = {}

    def key(self, token_ids: Sequence[int], num_tokens: int) -> bytes:
        """The key of the first ``num_tokens`` tokens.

        Args:
            token_ids: The request's tokens; may only have grown since the last call.
            num_tokens: From 1.

        Raises:
            ValueError: there are not so many tokens, or fewer than 1 were asked for.
        """
        if not 1 <= num_tokens <= len(token_ids):
            raise ValueError(f"a key of {num_tokens} tokens was asked for: the request has {len(token_ids)}")
        known = self._keys.get(num_tokens)
        if known is None:
            known = self._keys[num_tokens] = self._make(token_ids, num_tokens)
        return known

    def _make(self, token_ids: Sequence[int], num_tokens: int) -> bytes:
        index = bisect_right(self._positions, num_tokens) - 1
        position, state = self._positions[index], self._states[index].copy()
        while position < num_tokens:
            end = min(num_tokens, (position // CHECKPOINT + 1) * CHECKPOINT)
            self._feed(state, token_ids, position, end)
            position = end
            if end > self._positions[-1]:
                self._positions.append(end)
                self._states.append(state.copy())
        return state.digest()

    def _feed(self, state: hashlib.blake2b, token_ids: Sequence[int], start: int, end: int) -> None:
        for segment in self._segments:
            if start <= segment.offset < end:
                self._tokens(state, token_ids[start : segment.offset])
                content = _ENCODER.encode((segment.kind, segment.content_hash, segment.length))
                state.update(SEGMENT + struct.pack("<q", len(content)) + content)
                start = segment.offset
        self._tokens(state, token_ids[start:end])

    @staticmethod
    def _tokens(state: hashlib.blake2b, token_ids: Sequence[int]) -> None:
        state.update(struct.pack(f"<{len(token_ids)}q", *token_ids))
