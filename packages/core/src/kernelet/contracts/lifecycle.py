"""Data of the lifecycle hooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kernelet.contracts.offer import NO_OPTIONS, Schema


class ProcessRole(StrEnum):
    """What a process does in an engine."""

    FRONTEND = "frontend"
    ENGINE = "engine"
    WORKER = "worker"
    HELPER = "helper"


@dataclass(frozen=True, kw_only=True)
class PluginOptions:
    """A plugin's configuration namespace (named like the plugin) and its schema."""

    schema: Schema = field(default_factory=lambda: NO_OPTIONS)  # a mappingproxy has no hash before 3.12


@dataclass(frozen=True, kw_only=True)
class ConfigChange:
    """A change of the engine's configuration that a plugin asks for; recorded with its author.

    Attributes:
        path: Dotted path in ``EngineConfig``, e.g. ``"cache.block_size"``.
        value: The new value.
        reason: One sentence for ``--print-config``.
    """

    path: str
    value: object
    reason: str
