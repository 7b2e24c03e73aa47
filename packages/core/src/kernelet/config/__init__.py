"""Configuration of an engine: frozen data, made by ``kernelet.engine.bootstrap``, given to every process."""

from __future__ import annotations

from kernelet.config.cache import CacheConfig
from kernelet.config.engine import EngineConfig
from kernelet.config.graphs import GraphConfig
from kernelet.config.health import HealthConfig
from kernelet.config.kv import KVTransferConfig
from kernelet.config.kv_events import KVEventsConfig
from kernelet.config.model import ModelConfig
from kernelet.config.parallel import ParallelConfig
from kernelet.config.plugins import PluginsConfig
from kernelet.config.scheduler import SchedulerConfig
from kernelet.config.structured import StructuredConfig

__all__ = [
    "CacheConfig",
    "EngineConfig",
    "GraphConfig",
    "HealthConfig",
    "KVEventsConfig",
    "KVTransferConfig",
    "ModelConfig",
    "ParallelConfig",
    "PluginsConfig",
    "SchedulerConfig",
    "StructuredConfig",
]
