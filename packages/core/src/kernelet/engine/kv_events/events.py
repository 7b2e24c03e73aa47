"""From the events of a cache to what is published."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kernelet.cache.events import CacheEvent
from kernelet.config import KVEventsConfig
from kernelet.contracts.cache import CacheConfigPlan
from kernelet.engine.kv_events.messages import EventBatch, Translator
from kernelet.engine.kv_events.publisher import KVEventPublisher


class KVEvents:
    """A publisher, where one is asked for.

    Args:
        config: Where and how.

    Raises:
        ConfigError: an address cannot be used.
    """

    def __init__(self, config: KVEventsConfig) -> None:
        self._publisher = KVEventPublisher(config) if config.enable_kv_cache_events else None

    def of(self, take: Callable[[], Sequence[CacheEvent]], plan: CacheConfigPlan) -> Callable[[], None]:
        """What publishes the events of a cache since it was called last.

        Args:
            take: ``CacheManager.take_events``.
            plan: The cache's groups.
        """
        publisher, translator = self._publisher, Translator(plan)
        if publisher is None:
            return lambda: None

        def publish() -> None:
            events = take()
            if events:
                publisher.publish(EventBatch(ts=time.time(), events=translator.messages(events)))

        return publish

    def close(self) -> None:
        """Publishes what waits. May be called twice."""
        if self._publisher is not None:
            self._publisher.close()
