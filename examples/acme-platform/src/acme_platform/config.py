"""The half of the platform that every process has; torch is not imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acme_platform.native import missing
from kernelet.contracts.lifecycle import ConfigChange
from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, PlatformConfig, Probe
from kernelet.errors import ConfigError

if TYPE_CHECKING:
    from kernelet.config import EngineConfig

BLOCK = 8
"""Blocks of the cache are a multiple of this."""


def probe() -> Probe:
    """Available where the library was built for; below every real device, so that it runs only if it is named."""
    if reason := missing():
        return Probe(available=False, priority=-50, reason=reason)
    return Probe(available=True, priority=-50, reason="it is made of software")


def positive(settings: Settings, key: str) -> int:
    """An option that counts something.

    Raises:
        ConfigError: it is below 1.
    """
    value = int(settings[key] or 0)
    if value < 1:
        raise ConfigError(f"{settings.plugin}.{key} is {value}: it must be at least 1")
    return value


class AcmeConfig(PlatformConfig):
    def capabilities(self) -> Capabilities:
        return Capabilities(
            device_type="cpu",
            dtypes=("float32", "float64"),
            memory_bytes=positive(self.settings, "memory_mib") << 20,
            num_compute_units=positive(self.settings, "threads"),
            features=frozenset({"acme"}),
        )

    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        size = config.cache.block_size
        if size % BLOCK == 0:
            return ()
        rounded = -(-size // BLOCK) * BLOCK
        return (ConfigChange(path="cache.block_size", value=rounded, reason=f"blocks are multiples of {BLOCK} tokens"),)

    def attention_order(self) -> tuple[str, ...]:
        return ("acme-attention",)
