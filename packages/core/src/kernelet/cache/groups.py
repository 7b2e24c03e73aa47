"""What full, latent and sliding-window layers need of their block lists. Other kinds' managers come from plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from kernelet.contracts.cache import CacheSpec, GroupManager, SlidingWindowSpec
from kernelet.errors import ConfigError


def ceil_div(value: int, divisor: int) -> int:
    """Quotient, rounded up."""
    return -(-value // divisor)


class FullGroupManager(GroupManager):
    """Every token attends to all before it: nothing is dropped, and a hit needs every block."""

    def __init__(self, spec: CacheSpec) -> None:
        self._block_size = spec.block_size

    def num_blocks(self, num_tokens: int) -> int:
        return ceil_div(num_tokens, self._block_size)

    def first_kept_block(self, num_computed_tokens: int) -> int:
        return 0

    def longest_hit(self, present: Sequence[bool], max_blocks: int) -> int:
        for index, there in enumerate(present[:max_blocks]):
            if not there:
                return index
        return min(len(present), max_blocks)

    def peak_blocks(self, num_tokens: int, chunk: int) -> int:
        return self.num_blocks(num_tokens)


class SlidingWindowGroupManager(GroupManager):
    """The token at position p attends to positions p - window + 1 to p; blocks wholly before that are dropped."""

    def __init__(self, spec: CacheSpec) -> None:
        if not isinstance(spec, SlidingWindowSpec):
            raise TypeError(f"not a sliding-window spec: {spec}")
        self._block_size = spec.block_size
        self._window = spec.window

    def num_blocks(self, num_tokens: int) -> int:
        return ceil_div(num_tokens, self._block_size)

    def first_kept_block(self, num_computed_tokens: int) -> int:
        return max(0, num_computed_tokens - self._window + 1) // self._block_size

    def longest_hit(self, present: Sequence[bool], max_blocks: int) -> int:
        count = min(len(present), max_blocks)
        while count > 0:
            needed = range(count - 1, self.first_kept_block(count * self._block_size) - 1, -1)
            missing = next((index for index in needed if not present[index]), None)
            if missing is None:
                return count
            count = missing  # every longer hit that ends after the gap needs it too
        return 0

    def peak_blocks(self, num_tokens: int, chunk: int) -> int:
        held = self._window - 1 + chunk
        # a stretch of so many tokens may begin at the last token of a block
        return min(self.num_blocks(num_tokens), ceil_div(max(held - 1, 0), self._block_size) + 1)


CORE_MANAGERS: Mapping[str, type[GroupManager]] = MappingProxyType(
    {"full": FullGroupManager, "sliding_window": SlidingWindowGroupManager, "mla": FullGroupManager}
)
"""Managers by the tag of their spec."""


def spec_kind(spec: CacheSpec) -> str:
    """The tag of a spec's class."""
    return str(spec.__struct_config__.tag)


def manager_kinds(offered: Iterable[tuple[str, type[GroupManager]]]) -> dict[str, type[GroupManager]]:
    """Core's managers and those offered by plugins, which may replace core's."""
    return {**CORE_MANAGERS, **dict(offered)}


def group_manager(spec: CacheSpec, managers: Mapping[str, type[GroupManager]] | None = None) -> GroupManager:
    """Makes the manager of a group.

    Raises:
        ConfigError: nobody manages this kind of state.
    """
    known = CORE_MANAGERS if managers is None else managers
    kind = spec_kind(spec)
    if kind not in known:
        raise ConfigError(
            f"no cache manager for layers of kind {kind!r}; there are {', '.join(sorted(known))}. "
            "Install the plugin that offers it (hook kernelet_cache_specs)."
        )
    return known[kind](spec)
