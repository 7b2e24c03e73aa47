"""The calls of one rank to an LMCache server; imported in the agent's process alone.

A chunk is stored as its bytes and a seal, the BLAKE3 of these bytes keyed with the chunk's key: LMCache has no checksum
of its own. The server sees made-up token ids, eight a chunk, which are the chunk's key: all that keys and values depend
on is in there, and a prefix of keys is a prefix of tokens.
"""

from __future__ import annotations

import importlib
import os
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

from kernelet_kv_lmcache.wire import IDS, Setup

SEAL = 16
"""Bytes of a seal."""
GOODBYE = 1.0
"""Seconds in which a server may hear that a rank ends."""


def token_ids(keys: Sequence[bytes], chunk: int) -> tuple[int, ...]:
    """The made-up tokens of chunks with these keys."""
    rest = (0,) * (chunk - IDS)
    return tuple(token for key in keys for token in (*struct.unpack(f">{IDS}I", key), *rest))


def seal(payload: Any, key: bytes) -> bytes:
    """What proves that these are the bytes of the chunk with this key."""
    import blake3

    digest: bytes = blake3.blake3(payload, key=key).digest(length=SEAL)
    return digest


def import_lmcache() -> None:
    """All that the calls need."""
    for name in ("distributed.api", "multiprocess.custom_types", "multiprocess.transport.zmq_impl"):
        importlib.import_module(f"lmcache.v1.{name}")
    importlib.import_module("lmcache.v1.multiprocess.transfer_context.base")


class Client:
    """The calls of one rank.

    Raises:
        Exception: anything that LMCache raises, a deadline among it.
    """

    def __init__(self, setup: Setup) -> None:
        import zmq
        from lmcache.v1.multiprocess.transport.factory import RequestClientFactory

        self.setup = setup
        self._context = zmq.Context()
        self._client: Any = RequestClientFactory.create(setup.url, context=self._context)
        self._transfer: Any = None
        self._instance = int.from_bytes(os.urandom(6), "big")
        try:
            self.chunk = int(self._wait(self._client.get_chunk_size()))
            self._register()
        except BaseException:
            self.close(politely=False)
            raise

    def _wait(self, future: Any) -> Any:
        return future.result(timeout=self.setup.timeout)

    def _register(self) -> None:
        """Chunks of bytes: LMCache is not asked to read pages, so that no layout of it can be the wrong one."""
        import torch
        from lmcache.v1.distributed.api import MemoryLayoutDesc
        from lmcache.v1.multiprocess.custom_types import RegisterEngineDrivenContextPayload
        from lmcache.v1.multiprocess.transfer_context.base import (
            EngineDrivenContextMetadata,
            create_engine_driven_context,
        )

        setup = self.setup
        if setup.chunk and setup.chunk != self.chunk:
            raise ValueError(f"its chunks have {self.chunk} tokens, this engine was started with {setup.chunk}")
        if self.chunk < IDS or self.chunk % IDS:
            raise ValueError(f"its chunks have {self.chunk} tokens: start it with a --chunk-size that {IDS} divides")
        size = self.chunk * setup.token_bytes + SEAL
        self._shape = torch.Size([1, 1, size])
        layout = MemoryLayoutDesc(shapes=[self._shape], dtypes=[torch.uint8])
        payload = RegisterEngineDrivenContextPayload(
            instance_id=self._instance,
            model_name=setup.name,
            world_size=setup.world_size,
            block_size=self.chunk,
            num_layers=1,
            hidden_dim_size=size,
            dtype_str="uint8",
            use_mla=True,  # one tensor a chunk, not one of keys and one of values
            num_physical_slots=1,
        )
        there = self._wait(self._client.register_kv_cache_engine_driven_context(payload))
        self._transfer = create_engine_driven_context(
            EngineDrivenContextMetadata(layout, self.chunk, use_mla=True),
            self._client,
            setup.timeout,
            there.shm_name,
            there.pool_size,
        )

    def ping(self) -> None:
        self._wait(self._client.ping(self._instance))

    def lookup(self, session: str, keys: Sequence[bytes]) -> int:
        """Chunks that are there on every rank."""
        self._wait(self._client.lookup(self._key(session, keys, 0, None), self.setup.world_size))
        found = self._wait(self._client.wait_prefetch_status(session, self.setup.timeout * 0.8))
        return int(found or 0)

    def free(self, session: str, keys: Sequence[bytes], first: int, *, whole: bool) -> None:
        if first < len(keys):
            key = self._key(session, keys, first, None if whole else self.setup.rank)
            self._wait(self._client.free_lookup_locks(key, self.setup.world_size))

    def end(self, session: str) -> None:
        self._wait(self._client.end_session(session))

    def get(self, session: str, keys: Sequence[bytes], first: int, take: Callable[[int, Any], bool]) -> int:
        """Gives chunks from ``first`` on to ``take``, until it says no; returns how many it took."""
        key = self._key(session, keys, first, self.setup.rank)
        chunks = self._transfer.prepare_retrieve(key, self._instance)
        if chunks is None:
            return 0
        try:
            for index, data in enumerate(chunks):
                if not take(index, data.view(-1).numpy()):
                    return index
            return len(chunks)
        finally:
            self._transfer.commit_retrieve(key, self._instance)

    def put(self, session: str, keys: Sequence[bytes], first: int, fill: Callable[[int, Any], None]) -> bool:
        """Stores chunks from ``first`` on, those that are not there yet, with what ``fill`` writes."""
        import torch

        key = self._key(session, keys, first, self.setup.rank)
        prepared = self._transfer.prepare_store(key, self._instance)
        if prepared is None:
            count = len(keys) - first
            prepared = [torch.empty(self._shape, dtype=torch.uint8) for _ in range(count)], range(count)
        chunks, indices = prepared
        for chunk, index in zip(chunks, indices, strict=True):
            fill(index, chunk.view(-1).numpy())
        return not chunks or bool(self._transfer.commit_store(key, self._instance, chunks))

    def _key(self, session: str, keys: Sequence[bytes], first: int, rank: int | None) -> Any:
        from lmcache.v1.multiprocess.custom_types import IPCCacheServerKey

        return IPCCacheServerKey(
            model_name=self.setup.name,
            world_size=self.setup.world_size,
            worker_id=rank,
            token_ids=token_ids(keys, self.chunk),
            start=first * self.chunk,
            end=len(keys) * self.chunk,
            request_id=session,
            num_kv_readers=1,
        )

    def close(self, *, politely: bool = True) -> None:
        """Ends; nothing waits for a server that does not answer."""
        try:
            if politely:
                self._client.unregister_kv_cache_engine_driven_context(self._instance).result(timeout=GOODBYE)
        except Exception as error:  # noqa: BLE001 - it is gone anyway, and LMCache forgets who is silent
            sys.stderr.write(f"LMCache was not told that a rank ends: {error!r}\n")
        if self._transfer is not None:
            self._transfer.close()
        self._client.close()
        self._context.destroy(linger=0)
