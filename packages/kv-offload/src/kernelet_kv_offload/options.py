"""The options, checked against what is to be stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kernelet.config.host_memory import MemoryLimit, available_memory
from kernelet.contracts.cache import EvictionPolicy
from kernelet.contracts.kv import KVLayout
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError, SelectionError

ALIGNMENT = 16
"""Every part of a chunk begins at a multiple of so many bytes: no element is larger."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What an operator chose, for one model.

    Attributes:
        plugin: Whose options they are, for messages.
        memory_bytes: Of all ranks together.
        path: Folder of the disk tier; None: there is none.
        disk_bytes: Most bytes in the folder.
        chunk_tokens: Tokens of a chunk, in every group.
        write_queue: Chunks of a rank that may wait for the disk.
        eviction_policy: Name of the policy of both tiers.
    """

    plugin: str
    memory_bytes: int
    path: Path | None
    disk_bytes: int
    chunk_tokens: int
    write_queue: int
    eviction_policy: str

    @classmethod
    def of(cls, settings: Settings, layouts: Sequence[KVLayout]) -> Options:
        """Checks each option by itself; a chunk is no longer than the smallest window.

        Raises:
            ConfigError: naming the option.
        """
        numbers = {
            key: _positive(settings, key) for key in ("memory_bytes", "disk_bytes", "chunk_tokens", "write_queue")
        }
        windows = [layout.window for layout in layouts if layout.window is not None]
        chunk_tokens = min([numbers.pop("chunk_tokens"), *windows])
        path = str(settings["path"] or "")
        return cls(
            plugin=settings.plugin,
            path=Path(path).expanduser().absolute() if path else None,
            chunk_tokens=chunk_tokens,
            eviction_policy=str(settings["eviction_policy"]),
            **numbers,
        )

    def num_slots(
        self, ranks: Sequence[Sequence[KVLayout]], available: Callable[[], MemoryLimit] = available_memory
    ) -> int:
        """Chunks that fit in memory; the ranks share it.

        Raises:
            ConfigError: not a single one does, or there is not so much memory.
        """
        needed = sum(chunk_bytes(layouts, self.chunk_tokens) for layouts in ranks)
        if self.memory_bytes < needed:
            raise ConfigError(
                f"{self.plugin}.memory_bytes is {self.memory_bytes}, and one chunk of {self.chunk_tokens} tokens takes "
                f"{needed}: give --set {self.plugin}.memory_bytes={16 * needed} or more"
            )
        limit = available()
        if self.memory_bytes > limit.bytes:
            raise ConfigError(
                f"{self.plugin}.memory_bytes is {self.memory_bytes}, and only {limit.bytes} are left "
                f"({limit.source}): give less with --set {self.plugin}.memory_bytes=N"
            )
        return self.memory_bytes // needed

    def num_files(self, file_bytes: int) -> int:
        """Chunks of one rank that fit on the disk.

        Raises:
            ConfigError: not a single one does.
        """
        if self.disk_bytes < file_bytes:
            raise ConfigError(
                f"{self.plugin}.disk_bytes is {self.disk_bytes}, and the file of one chunk of {self.chunk_tokens} "
                f"tokens takes {file_bytes}: give --set {self.plugin}.disk_bytes={16 * file_bytes} or more"
            )
        return self.disk_bytes // file_bytes

    def policy(self, make: Callable[[str, int], EvictionPolicy], slots: int) -> EvictionPolicy:
        """The policy of a tier, for slots 1 to ``slots``.

        Raises:
            ConfigError: nobody offers it.
        """
        try:
            return make(self.eviction_policy, slots + 1)
        except SelectionError as error:
            raise ConfigError(f"{self.plugin}.eviction_policy: {error}") from error


def chunk_bytes(layouts: Sequence[KVLayout], tokens: int) -> int:
    """Bytes of a chunk on one rank."""
    return sum(
        len(layout.layers) * aligned(tokens * layout.num_kv_heads * part.width * item_bytes(part.dtype))
        for layout in layouts
        for part in layout.parts
    )


def aligned(size: int) -> int:
    """The next multiple of ``ALIGNMENT``."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def item_bytes(dtype: str) -> int:
    """Bytes of an element, by the digits in the name of its dtype: ``"bfloat16"``, ``"float8_e4m3fn"``.

    Raises:
        ValueError: it is no name of a torch dtype that keys and values have.
    """
    bits = re.match(r"[a-z]+(8|16|32|64)(?![0-9])", dtype)
    if bits is None:
        raise ValueError(f"keys and values of dtype {dtype!r} are not known")
    return int(bits[1]) // 8


def describe(layouts: Sequence[KVLayout], tokens: int) -> bytes:
    """Everything of the layouts that decides the bytes of a chunk, and nothing else: not blocks, not their order."""
    groups = [
        [list(layout.layers), layout.num_kv_heads, [[part.name, part.dtype, part.width] for part in layout.parts]]
        for layout in layouts
    ]
    return msgspec.json.encode({"tokens": tokens, "groups": groups})


def _positive(settings: Settings, key: str) -> int:
    value = settings[key]
    if not isinstance(value, int) or value < 1:
        raise ConfigError(f"{settings.plugin}.{key} is {value}; it must be 1 at least")
    return value
