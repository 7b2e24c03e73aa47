"""How weights, keys and values are stored: what the operator named, and what the platform's worker did."""

from __future__ import annotations

from collections.abc import Callable

from kernelet.config import EngineConfig
from kernelet.config.cache import AUTO
from kernelet.contracts.executor import EnginePlan
from kernelet.errors import ConfigError


def find_kv_cache(name: str, find: Callable[[str], object]) -> None:
    """Looks for the KV cache dtype before anything is loaded.

    Args:
        name: What the operator named.
        find: Selects an offer.

    Raises:
        SelectionError: no plugin offers it; lists those that are, and how to get another.
    """
    if name != AUTO:
        find(name)


def check_stored(plan: EnginePlan, config: EngineConfig) -> None:
    """Holds a platform's worker to what the configuration says.

    Raises:
        ConfigError: it did something else.
    """
    named = config.model.quantization or ""
    if plan.quantization != named:
        raise ConfigError(
            f"--quantization {named or '(none)'}: the platform {plan.platform!r} stores the weights "
            f"{f'as {plan.quantization}' if plan.quantization else 'unquantized'}: its worker knows no quantization"
        )
    if plan.kv_cache_dtype != config.cache.dtype:
        raise ConfigError(
            f"--kv-cache-dtype {config.cache.dtype}: the platform {plan.platform!r} keeps keys and values as "
            f"{plan.kv_cache_dtype}: its worker knows no other, leave the option out"
        )
