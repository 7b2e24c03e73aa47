"""What is told of prefixes that enter and leave the cache."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class KVEventsConfig:
    """Events of the prefix cache, published over ZMQ. Names are those of vLLM.

    Attributes:
        enable_kv_cache_events: Whether anything is published.
        endpoint: Bound if it holds ``*`` or ``::`` or is of ``ipc`` or ``inproc``, else connected to.
        replay_endpoint: Where missed batches can be asked for; None: nowhere.
        buffer_steps: Batches kept for that.
        hwm: Batches that a slow subscriber may be behind; what comes then is lost to it.
        max_queue_size: Batches that wait for the thread that publishes; what comes then is lost to all.
        topic: First frame of each message.
    """

    enable_kv_cache_events: bool = False
    endpoint: str = "tcp://*:5557"
    replay_endpoint: str | None = None
    buffer_steps: int = 10_000
    hwm: int = 100_000
    max_queue_size: int = 100_000
    topic: str = ""
