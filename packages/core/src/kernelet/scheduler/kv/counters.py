"""What is counted of KV connectors, for ``StepStats``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TIMEOUT, SHORT, UNCONFIRMED, HANDOVER, OFF = "timeout", "short", "unconfirmed", "handover_timeout", "connector_off"
"""Kinds of failures: a load's deadline passed, less came than was promised, a step ended without the word of its load,
a handover's deadline passed, the connector of a load or a handover was switched off."""


@dataclass
class KVCounters:
    """Since the last ``take``.

    Attributes:
        external_queries: Tokens that connectors were asked for.
        external_hits: Tokens that came.
        num_loads: Loads that are over and brought something.
        failures: By kind.
        connectors: What each connector counted, by its name.
    """

    external_queries: int = 0
    external_hits: int = 0
    num_loads: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    connectors: dict[str, Counter[str]] = field(default_factory=dict)

    def loaded(self, num_tokens: int) -> None:
        """A load is over."""
        self.external_hits += num_tokens
        self.num_loads += num_tokens > 0

    def add(self, name: str, stats: Mapping[str, float]) -> None:
        """A rank's counts of one connector."""
        if stats:
            self.connectors.setdefault(name, Counter()).update(stats)

    def take(self) -> dict[str, Any]:
        """The fields of ``StepStats``."""
        taken = {
            "external_queries": self.external_queries,
            "external_hits": self.external_hits,
            "num_loads": self.num_loads,
            "load_failures": dict(self.failures),
            "kv_connectors": {name: dict(counts) for name, counts in self.connectors.items()},
        }
        self.__init__()  # type: ignore[misc]
        return taken
