"""Which layers see a window only, rotate, or have experts: rules over config.json and the index of a layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import Config, Field
from kernelet_models_decoder.ropes import FULL, SLIDING

Rule = Callable[[Config, int], bool]


def _listed(config: Config, index: int) -> bool | None:
    """What ``layer_types`` says; None where config.json has none."""
    kinds = config.get("layer_types")
    if kinds is None:
        return None
    if index >= len(kinds) or kinds[index] not in {FULL, SLIDING}:
        raise UnsupportedModelError(f"'layer_types' of config.json is not served for layer {index}: {kinds!r}")
    return bool(kinds[index] == SLIDING)


def _or_listed(rule: Rule) -> Rule:
    def slides(config: Config, index: int) -> bool:
        listed = _listed(config, index)
        return rule(config, index) if listed is None else listed

    return slides


def never(_config: Config, _index: int) -> bool:
    """No layer."""
    return False


def _always(_config: Config, _index: int) -> bool:
    return True


def _even(_config: Config, index: int) -> bool:
    return index % 2 == 0


def _all_but_each(default: int) -> Rule:
    """All but each n-th layer, n being ``sliding_window_pattern``."""

    def rule(config: Config, index: int) -> bool:
        return bool((index + 1) % config.get("sliding_window_pattern|_sliding_window_pattern", default))

    return rule


def _tail(config: Config, index: int) -> bool:
    """From layer ``max_window_layers`` on."""
    return bool(index >= config.get("max_window_layers", 28))


def rotates(config: Config, index: int) -> bool:
    """What ``no_rope_layers`` says (1: rotates), or all but each ``no_rope_layer_interval``-th."""
    listed = config.get("no_rope_layers")
    if listed:
        return bool(listed[index])
    return bool((index + 1) % config.get("no_rope_layer_interval", 4))


def _no_rope(config: Config, index: int) -> bool:
    return not rotates(config, index)


def has_experts(config: Config, index: int) -> bool:
    """What ``decoder_sparse_step`` and ``mlp_only_layers`` say."""
    step = config.resolve(Field("decoder_sparse_step"))
    return index not in config.get("mlp_only_layers", []) and bool((index + 1) % step == 0)


WINDOWS: Mapping[str, Rule] = MappingProxyType(
    {
        "all": _always,
        "even": _or_listed(_even),
        "pattern_4": _or_listed(_all_but_each(4)),
        "pattern_6": _or_listed(_all_but_each(6)),
        "tail": _or_listed(_tail),
        "no_rope": _or_listed(_no_rope),
    }
)
"""Layers that slide."""
