"""Starts an engine in a process of its own, or comes to one that somebody else started."""

from __future__ import annotations

import logging
import sys
from functools import partial

from kernelet.engine.bootstrap import Configured, make_stats
from kernelet.engine.remote.client import RemoteClient
from kernelet.engine.remote.launch import Launcher
from kernelet.engine.remote.line import RemoteOptions
from kernelet.engine.remote.meeting import MeetingPlace
from kernelet.engine.remote.messages import EngineStart
from kernelet.errors import ManifestMismatchError


def spawn_engine(configured: Configured, options: RemoteOptions = RemoteOptions()) -> RemoteClient:  # noqa: B008 frozen
    """Spawns the engine of this configuration and waits until it takes requests.

    This process is its frontend 0, has the stat loggers, and ends it with ``shutdown``. Others join with
    ``connect_engine(client.folder, index)``.

    Raises:
        ManifestMismatchError: the child has other plugins; names both sides.
        KerneletError: whatever else it raised: the same class with the same message.
        EngineDeadError: it ended without a word; its log is on stderr.
    """
    manifest = configured.kernel.manifest
    place = MeetingPlace.make()
    start = EngineStart(
        manifest=manifest.encode(),
        config=configured.config,
        folder=place.folder,
        generation=0,
        path=list(sys.path),
        log_level=logging.getLogger("kernelet").getEffectiveLevel(),
        heartbeat_interval=options.heartbeat_interval,
        max_backlog=options.max_backlog,
    )
    client = RemoteClient(place, 0, options, Launcher(start), partial(make_stats, configured))
    theirs = client.started.manifest_digest
    if theirs != manifest.digest:
        client.shutdown()
        raise ManifestMismatchError(
            f"the engine's process runs other plugins (manifest {theirs[:12]}) than its parent ({manifest.digest[:12]})"
        )
    return client


def connect_engine(folder: str, index: int, options: RemoteOptions = RemoteOptions()) -> RemoteClient:  # noqa: B008 frozen
    """Comes to an engine that another process started, as its frontend number ``index`` (from 1); waits for its start.

    Raises:
        EngineDeadError: it ended before it took requests.
    """
    if index < 1:
        raise ValueError("frontend 0 is the process that spawned the engine")
    return RemoteClient(MeetingPlace(folder), index, options)
