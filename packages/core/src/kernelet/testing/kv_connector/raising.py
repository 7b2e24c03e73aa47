"""The fake connector with a fault: a method that raises from some call on, where its world says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from kernelet.testing.kv_connector.fake import FakeScheduler, FakeWorker
from kernelet.testing.kv_connector.script import World

SCHEDULER = (
    *("on_new_request", "get_num_new_matched_tokens", "update_state_after_alloc", "abort", "cancel"),
    *("request_preempted", "build_connector_meta", "update_connector_output", "request_finished", "has_pending_work"),
)
WORKER = (
    *("cancel", "bind_connector_metadata", "start_load_kv", "wait_for_layer_load", "save_kv_layer", "wait_for_save"),
    *("get_finished", "build_connector_worker_meta", "get_kv_connector_stats"),
)
METHODS = (*(f"scheduler.{name}" for name in SCHEDULER), *(f"worker.{name}" for name in WORKER))
"""What an engine calls while it runs: keys of ``World.raises``."""


class PlantedError(Exception):
    """Raised where a world wants it."""


class RaisingScheduler(FakeScheduler):
    """See the module."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return raising(self, f"scheduler.{name}", found) if name in SCHEDULER else found

    def update_connector_output(self, outputs: Any) -> None:
        """Its worker says something with each step, so that this is called."""


class RaisingWorker(FakeWorker):
    """See the module."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return raising(self, f"worker.{name}", found) if name in WORKER else found

    def build_connector_worker_meta(self) -> bytes:
        return b"here"


def raising(side: RaisingScheduler | RaisingWorker, key: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, until it has been called as often as its world says."""

    @wraps(method)
    def call(*arguments: Any) -> Any:
        world: World = side.world
        world.calls[key] += 1
        if world.calls[key] > world.raises.get(key, world.calls[key]):
            world.did["raised"] += 1
            raise PlantedError(key)
        return method(*arguments)

    return call
