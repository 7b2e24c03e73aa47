"""Applies a row to a config.json. No torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import REQUIRED, Config, Field
from kernelet_models_decoder.refusals import refuse_unread
from kernelet_models_decoder.ropes import FULL, MODEL, SLIDING, read_ropes
from kernelet_models_decoder.row import Mlp, Moe, Rounded, Row, Window
from kernelet_models_decoder.spec import DecoderSpec, ExpertsSpec, LayerSpec, MlpSpec
from kernelet_models_decoder.windows import WINDOWS, Rule, has_experts, never, rotates

_RENAMED = (
    "norm",
    "norm_eps",
    "norm_offset",
    "placement",
    "qk_norm",
    "qkv_bias",
    "output_bias",
    "head_bias",
    "attention_soft_cap",
    "sinks",
    "clip_qkv",
    "activation",
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
    embedding = row.embedding_scale if isinstance(row.embedding_scale, Rounded) else Rounded(row.embedding_scale)
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
        experts=_experts(row.mlp, config),
        mlp=_mlp(row.mlp, config),
        embedding_scale=float(config.resolve(embedding.value)),
        embedding_rounded=embedding is row.embedding_scale,
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
    slides, size = _window(row.window, config)
    turns = _one_of("rope_layers", row.rope_layers, _TURNS)
    found = []
    for index in range(_number(config, "num_hidden_layers")):
        sliding = slides(config, index)
        name = (SLIDING if sliding else FULL) if isinstance(row.rope_theta, tuple) else MODEL
        found.append(
            LayerSpec(
                window=size if sliding else None,
                rope=name if turns(config, index, sliding and size is not None) else None,
                experts=isinstance(row.mlp, Moe) and _has_experts(row.mlp, config, index),
            )
        )
    return tuple(found)


def _window(window: Window | None, config: Config) -> tuple[Rule, int | None]:
    if window is None:
        return never, None
    size, on = config.resolve(window.size), config.resolve(window.on)
    return _one_of("window.layers", window.layers, WINDOWS), int(size) if size is not None and on else None


def _has_experts(moe: Moe, config: Config, index: int) -> bool:
    return moe.other is None or has_experts(config, index)


def _experts(column: Mlp | Moe, config: Config) -> ExpertsSpec | None:
    if isinstance(column, Mlp):
        return None
    return ExpertsSpec(
        count=int(config.resolve(column.count)),
        top_k=int(config.resolve(column.top_k)),
        size=int(config.resolve(column.size)),
        router=config.resolve(column.router),
    )


def _mlp(column: Mlp | Moe | None, config: Config) -> MlpSpec | None:
    if isinstance(column, Moe):
        return _mlp(column.other, config)
    return None if column is None else MlpSpec(kind=column.kind, bias=bool(config.resolve(column.bias)))
