"""Applies a row to a config.json. No torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import REQUIRED, Config, Field
from kernelet_models_decoder.refusals import refuse_unread
from kernelet_models_decoder.ropes import FULL, MODEL, SLIDING, read_ropes
from kernelet_models_decoder.row import ExpertColumns, Row
from kernelet_models_decoder.spec import DecoderSpec, ExpertsSpec, LayerSpec
from kernelet_models_decoder.windows import EXPERT_LAYERS, WINDOWS, rotates

_RENAMED = (
    "norm",
    "norm_eps",
    "norm_offset",
    "placement",
    "qk_norm",
    "qkv_bias",
    "output_bias",
    "mlp_bias",
    "head_bias",
    "attention_soft_cap",
    "sinks",
    "clip_qkv",
    "mlp",
    "activation",
    "embedding_scale",
    "embedding_rounded",
    "residual_scale",
    "logits_scale",
    "final_soft_cap",
    "tied",
    "names",
)


def resolve(row: Row, values: Mapping[str, Any]) -> DecoderSpec:
    """What a model is, from its row and its config.json.

    Raises:
        UnsupportedModelError: for a configuration that the row does not serve; the message names the key.
    """
    config = Config(values)
    hidden, heads = _number(config, "hidden_size"), _number(config, "num_attention_heads")
    head_size = int(config.resolve(row.head_size) or hidden // heads)
    kv_heads = int(config.resolve(row.num_kv_heads) or heads)
    if heads % kv_heads:
        raise UnsupportedModelError(f"num_key_value_heads = {kv_heads} does not divide num_attention_heads = {heads}")
    ropes = read_ropes(row, config, head_size)
    scale = config.resolve(row.attention_scale)
    spec = DecoderSpec(
        vocab_size=_number(config, "vocab_size"),
        hidden_size=hidden,
        intermediate_size=_number(config, "intermediate_size"),
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_size=head_size,
        layers=_layers(row, config),
        ropes=ropes,
        interleaved=_one_of("rope", row.rope, {"halves": False, "interleaved": True}),
        experts=_experts(row, config),
        attention_scale=head_size**-0.5 if scale is None else float(scale),
        **{column: config.resolve(getattr(row, column)) for column in _RENAMED},
    )
    refuse_unread(row.architecture, config)
    return spec


def _number(config: Config, key: str) -> int:
    return int(config.resolve(Field(key, REQUIRED)))


def _one_of(column: str, name: str, choices: Mapping[str, Any]) -> Any:
    if name not in choices:
        raise UnsupportedModelError(f"column {column!r} has no component {name!r}; there are {', '.join(choices)}")
    return choices[name]


_TURNS: Mapping[str, Callable[[Config, int, bool], bool]] = MappingProxyType(
    {
        "all": lambda _config, _index, _slides: True,
        "listed": lambda config, index, _slides: rotates(config, index),
        "sliding": lambda _config, _index, slides: slides,
    }
)
"""Layers that rotate, by config.json, index, and whether the layer slides."""


def _layers(row: Row, config: Config) -> tuple[LayerSpec, ...]:
    slides = _one_of("window", row.window, WINDOWS)
    size = config.resolve(row.window_size) if row.window != "none" else None
    on = size is not None and bool(config.resolve(row.window_on))
    by_layer = _one_of("rope_source", row.rope_source, {"model": False, "layer_type": True})
    found = []
    for index in range(_number(config, "num_hidden_layers")):
        sliding = slides(config, index)
        turns = _one_of("rope_layers", row.rope_layers, _TURNS)(config, index, sliding and on)
        name = (SLIDING if sliding else FULL) if by_layer else MODEL
        found.append(
            LayerSpec(
                window=int(size or 0) if sliding and on else None,
                rope=name if turns else None,
                experts=row.experts is not None
                and _one_of("experts", row.experts.layers, EXPERT_LAYERS)(config, index),
            )
        )
    return tuple(found)


def _experts_at(columns: ExpertColumns, config: Config, index: int) -> bool:
    return bool(_one_of("experts", columns.layers, EXPERT_LAYERS)(config, index))


def _experts(row: Row, config: Config) -> ExpertsSpec | None:
    columns = row.experts
    if columns is None:
        return None
    return ExpertsSpec(
        count=int(config.resolve(columns.count)),
        top_k=int(config.resolve(columns.top_k)),
        size=int(config.resolve(columns.size)),
        router=columns.router,
        renormalize=bool(config.resolve(columns.renormalize)),
    )
