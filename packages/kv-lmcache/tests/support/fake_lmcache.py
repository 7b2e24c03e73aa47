"""A store in this process that answers as LMCache's server does, for agents that are threads."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace

import numpy as np

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.testing.offered import find_offer
from kernelet_kv_lmcache import agent as agent_module
from kernelet_kv_lmcache.agent import Agent
from kernelet_kv_lmcache.client import SEAL, token_ids
from kernelet_kv_lmcache.worker_side import LMCacheWorkerSide

CHUNK = 8


class Store:
    """Chunks by name, rank and made-up tokens."""

    def __init__(self):
        self.chunks, self.held, self.alive, self.calls = {}, {}, True, []

    def client(self, setup):
        return Client(self, setup)


STORES = {}


class Client:
    """What ``kernelet_kv_lmcache.client.Client`` is to an agent."""

    def __init__(self, store, setup):
        self.store, self.setup, self.chunk = store, setup, CHUNK
        self.ping()

    def ping(self):
        if not self.store.alive:
            raise TimeoutError("nobody answers")

    def name(self, keys, rank):
        return self.setup.name, rank, token_ids(keys, CHUNK)

    def lookup(self, session, keys):
        self.ping()
        found = 0
        ranks = range(self.setup.world_size)
        while found < len(keys) and all(self.name(keys[: found + 1], rank) in self.store.chunks for rank in ranks):
            found += 1
        self.store.held[session] = {(rank, index) for rank in ranks for index in range(found)}
        return found

    def free(self, session, keys, first, *, whole):
        self.ping()
        for index in range(first, len(keys)):
            for rank in range(self.setup.world_size) if whole else (self.setup.rank,):
                self.store.held[session].remove((rank, index))

    def end(self, session):
        self.store.calls.append(("end", session))

    def get(self, session, keys, first, take):
        self.ping()
        for index in range(first, len(keys)):
            self.store.held[session].remove((self.setup.rank, index))
            data = self.store.chunks[self.name(keys[: index + 1], self.setup.rank)]
            if not take(index - first, np.frombuffer(data, np.uint8)):
                return index - first
        return len(keys) - first

    def put(self, session, keys, first, fill):
        self.ping()
        for index in range(first, len(keys)):
            data = bytearray(CHUNK * self.setup.token_bytes + SEAL)
            fill(index - first, np.frombuffer(data, np.uint8))
            self.store.chunks[self.name(keys[: index + 1], self.setup.rank)] = bytes(data)
        return True

    def close(self, *, politely=True):
        self.store.calls.append(("close", politely))


class ThreadedAgent:
    def __init__(self, sock, memory):
        run = Agent(sock.dup(), memory, connect=lambda setup: STORES[setup.url].client(setup)).run
        self.thread = threading.Thread(target=run)
        self.thread.start()

    def wait(self, timeout):
        self.thread.join(timeout)

    def kill(self):
        pass


class WorkerSide(LMCacheWorkerSide):
    def start(self):
        return ThreadedAgent


def plain_seal(payload, key):
    """A seal without BLAKE3, which is LMCache's requirement."""
    return hashlib.blake2b(bytes(payload), key=key, digest_size=SEAL).digest()


def offered(monkeypatch, **options):
    """The connector on a new store; returns both."""
    url = f"tcp://store-{len(STORES)}:1"
    store = STORES[url] = Store()
    monkeypatch.setattr(agent_module, "seal", plain_seal)
    monkeypatch.setattr(agent_module, "PAUSE", 0.02)
    found = find_offer("kernelet_kv_lmcache.plugin", KVConnectorOffer, "kv-lmcache", **{"url": url, **options})
    return replace(found, offer=replace(found.offer, worker="fake_lmcache:WorkerSide")), store


__all__ = ["CHUNK", "Store", "WorkerSide", "offered"]
