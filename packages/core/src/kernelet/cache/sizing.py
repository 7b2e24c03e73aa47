"""How many blocks each group gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernelet.cache.groups import group_manager
from kernelet.config import EngineConfig
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec, GroupManager, SlidingWindowSpec
from kernelet.errors import ConfigError, InsufficientMemoryError

Managers = Mapping[str, type[GroupManager]]
Spec = FullAttentionSpec | SlidingWindowSpec


def group_layers(specs: Mapping[str, Spec]) -> tuple[CacheGroup, ...]:
    """Layers with equal specs form a group; groups and their layers stay in the order of the layers."""
    groups: dict[Spec, list[str]] = {}
    for layer, spec in specs.items():
        groups.setdefault(spec, []).append(layer)
    return tuple(CacheGroup(spec=spec, layers=tuple(layers)) for spec, layers in groups.items())


def plan_cache(
    specs: Mapping[str, Spec], config: EngineConfig, available_bytes: int, managers: Managers | None = None
) -> CacheConfigPlan:
    """Groups the layers and sizes every group.

    A group first gets what one request of the largest context holds at its peak, then every group the same number more.

    Args:
        specs: What each layer keeps; with several ranks, the largest of them.
        config: Context, chunk size and the cache's own options.
        available_bytes: Memory left once weights and activations are counted; the smallest of all ranks.
        managers: ``GroupManager`` classes by tag; None: core's.

    Raises:
        InsufficientMemoryError: one request of ``max_model_len`` tokens does not fit; tells the largest context.
        ConfigError: there is no layer with a cache.
    """
    groups = group_layers(specs)
    if not groups:
        raise ConfigError("the model has no layer that keeps a cache; Kernelet cannot run it")
    sizes = _Sizes(groups, config, managers)
    if config.cache.num_blocks is not None:
        counts = sizes.forced(config.cache.num_blocks)
    else:
        counts = sizes.from_bytes(_budget(config, available_bytes), available_bytes)
    return CacheConfigPlan(
        groups=tuple(
            CacheGroup(spec=group.spec, layers=group.layers, num_blocks=count)
            for group, count in zip(groups, counts, strict=True)
        )
    )


def _budget(config: EngineConfig, available_bytes: int) -> int:
    asked = config.cache.memory_bytes
    if asked is None:
        return int(available_bytes * config.cache.memory_utilization)
    if asked > available_bytes:
        raise InsufficientMemoryError(
            f"--kv-cache-memory-bytes asks for {_show(asked)} of cache, but only {_show(max(0, available_bytes))} are "
            "left after weights and activations. Ask for less, or raise the memory limit of the machine or container."
        )
    return asked


class _Sizes:
    def __init__(self, groups: Sequence[CacheGroup], config: EngineConfig, managers: Managers | None) -> None:
        self._groups = groups
        self._managers = [group_manager(group.spec, managers) for group in groups]
        self._chunk = config.scheduler.max_num_batched_tokens
        self._max_model_len = config.model.max_model_len

    def _peaks(self, context: int) -> list[int]:
        return [manager.peak_blocks(context, self._chunk) for manager in self._managers]

    def _least_bytes(self, context: int) -> int:
        """Bytes for one request of so many tokens, null blocks included."""
        peaks = self._peaks(context)
        return sum((peak + 1) * group.bytes_per_block for peak, group in zip(peaks, self._groups, strict=True))

    def from_bytes(self, budget: int, available: int) -> list[int]:
        needed = self._least_bytes(self._max_model_len)
        if needed > budget:
            fits = self._largest_context(lambda context: self._least_bytes(context) <= budget)
            raise InsufficientMemoryError(
                f"a request of {self._max_model_len} tokens needs {_show(needed)} of cache, but the cache gets only "
                f"{_show(max(0, budget))} (of {_show(max(0, available))} left after weights and activations). "
                + self._advice(fits)
            )
        more = (budget - needed) // sum(group.bytes_per_block for group in self._groups)
        return [peak + 1 + more for peak in self._peaks(self._max_model_len)]

    def forced(self, num_blocks: int) -> list[int]:
        needed = max(self._peaks(self._max_model_len)) + 1
        if num_blocks < needed:
            fits = self._largest_context(lambda context: max(self._peaks(context)) + 1 <= num_blocks)
            raise InsufficientMemoryError(
                f"a request of {self._max_model_len} tokens needs {needed} blocks in a group, but --num-blocks is "
                f"{num_blocks}. " + self._advice(fits)
            )
        return [num_blocks] * len(self._groups)

    def _largest_context(self, fits: Callable[[int], bool]) -> int:
        low, high = 0, self._max_model_len
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
        return low

    @staticmethod
    def _advice(fits: int) -> str:
        more = "give the cache more (--kv-cache-memory-bytes, --memory-utilization, --num-blocks)"
        if fits == 0:
            return f"Not even one token fits: {more} or lower --max-num-batched-tokens."
        return f"The largest context that fits is {fits} tokens: use --max-model-len {fits}, or {more}."


def _show(count: int) -> str:
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.2f} MiB"
