"""The one seam between serving and the engine: how the parent starts it, and how another frontend joins it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelet.config import EngineConfig
from kernelet.contracts.lifecycle import ProcessRole
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.serving import EngineClient
from kernelet.engine.async_llm import AsyncLLM
from kernelet.engine.bootstrap import Configured, join_engine, start
from kernelet.engine.remote.client import RemoteClient
from kernelet.engine.remote.line import RemoteOptions
from kernelet.engine.remote.spawn import connect_engine, spawn_engine


@dataclass(frozen=True, kw_only=True)
class Joined:
    """An engine as one frontend holds it.

    Attributes:
        engine: Ready.
        plugins: Of this process.
        manifest_digest: Of these plugins.
        close: Lets go of the engine; in the parent it ends. May be called twice.
        cut: Ends this frontend's requests with an error that says why. From any thread; may be called twice.
        address: Where another frontend finds it.
        io_processors: By name.
    """

    engine: EngineClient
    plugins: PluginView
    manifest_digest: str
    close: Callable[[], None]
    cut: Callable[[str], None]
    address: str = ""
    io_processors: Mapping[str, Any] = field(default_factory=dict)


def start_engine(configured: Configured, *, restart: bool = False) -> Joined:
    """Starts the engine in a process of its own, and waits until it is ready.

    Raises:
        KerneletError: it does not start.
    """
    return make(configured, lambda it: spawn_engine(it, RemoteOptions(restart=restart, limits=it.config.health)))


def join(manifest: bytes, config: EngineConfig, address: str, index: int, *, restart: bool = False) -> Joined:
    """Comes to the engine that the parent started, as its frontend number ``index``.

    Raises:
        ManifestMismatchError: this process has other plugins; names both sides.
        KerneletError: the engine is not there.
    """
    configured = join_engine(manifest, config, ProcessRole.FRONTEND)
    options = RemoteOptions(restart=restart, limits=config.health)
    return make(configured, lambda _: connect_engine(address, index, options))


def make(configured: Configured, launch: Callable[[Configured], RemoteClient]) -> Joined:
    """What both have in common."""
    clients: list[RemoteClient] = []

    def launched(it: Configured) -> RemoteClient:
        clients.append(launch(it))
        return clients[0]

    frontend = start(configured, launched)
    engine, processor = AsyncLLM.of(frontend), frontend.io_processor
    return Joined(
        engine=engine,
        plugins=configured.kernel,
        manifest_digest=configured.kernel.manifest.digest,
        close=frontend.close,
        cut=engine.cut,
        address=clients[0].folder,
        io_processors={} if processor is None else {processor.name: processor},
    )
