"""Other values of each column of a row, every one of which must change what is computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kernelet_models_decoder.fields import Field
from kernelet_models_decoder.row import Mlp, Moe, Rounded, Row, Window

OTHERS: dict[str, tuple[Any, ...]] = {
    "head_size": (4,),
    "num_kv_heads": (1,),
    "norm": ("rms", "layer", "layer_no_bias"),
    "norm_eps": (0.5,),
    "norm_offset": (0.0, 1.0),
    "placement": ("pre", "post", "sandwich", "parallel", "parallel_shared"),
    "qk_norm": ("none", "head", "whole"),
    "rope": ("halves", "interleaved"),
    "rope_theta": (77.0, (77.0, 77.0)),
    "rope_partial": (0.5, 0.25),
    "rope_layers": ("all", "listed", "sliding"),
    "rope_names": ((("default", "dynamic"), ("linear", "default"), ("longrope", "default")),),
    "window": (None, Window(layers="all", size=3)),
    "window.layers": ("all", "even", "tail", "no_rope"),
    "window.size": (3, None),
    "window.on": (False,),
    "attention_scale": (0.77, None),
    "attention_soft_cap": (0.5, None),
    "sinks": (True,),
    "clip_qkv": (0.05,),
    "mlp": (Mlp(kind="gated"), Mlp(kind="plain"), Moe(count=4, top_k=2, size=24, router="softmax_top_k")),
    "mlp.kind": ("gated", "plain"),
    "mlp.count": (3,),
    "mlp.top_k": (1,),
    "mlp.size": (28,),
    "mlp.router": ("softmax_top_k", "top_k_softmax"),
    "mlp.other": (None, Mlp(), Mlp(kind="plain")),
    "activation": ("silu", "gelu_tanh", "relu", "quick_gelu"),
    "embedding_scale": (1.7,),
    "residual_scale": (0.5,),
    "logits_scale": (1.3,),
    "final_soft_cap": (0.5, None),
}
"""Candidates by column; the row's own is left out. Booleans are turned, ``names`` are changed one by one."""

BOOLEANS = ("qkv_bias", "output_bias", "head_bias", "tied", "mlp.bias")
DEFAULTS = ("rope_theta", "rope_partial", "window.layers")
"""Columns that matter where config.json says nothing: tried on the hand-written one."""


@dataclass(frozen=True)
class Mutation:
    """A changed row, and the config.json that shows it."""

    label: str
    row: Row
    v4: bool


def column_names() -> list[str]:
    """All columns, those of nested records by ``outer.inner``; ``mlp`` is one of two records."""
    names = []
    for column in dataclasses.fields(Row):
        inner = {"window": (Window,), "mlp": (Mlp, Moe)}.get(column.name, ())
        names += [column.name, *(f"{column.name}.{f.name}" for kind in inner for f in dataclasses.fields(kind))]
    return [name for name in names if name != "architecture"]


def mutations(row: Row, resolved: dict[str, Any]) -> Iterator[Mutation]:
    """Every candidate that differs from the row.

    Args:
        row: The row.
        resolved: What columns that come from config.json are for the model at hand; and under ``"all_slide"``, whether
            every layer has a window, so that "sliding" layers are "all".
    """
    for column in column_names():
        outer, _, inner = column.partition(".")
        holder = getattr(row, outer) if inner else row
        if inner and (holder is None or not hasattr(holder, inner)):
            continue
        own = getattr(holder, inner or outer)
        actual = resolved.get(column, own)
        for value in _candidates(column, actual):
            if _is_same(value, own, actual) or (
                column == "rope_layers" and value == "sliding" and resolved["all_slide"]
            ):
                continue
            changed = replace(row, **{outer: replace(holder, **{inner: value}) if inner else value})
            yield Mutation(f"{column}={_label(value)}", changed, column in DEFAULTS)


def _candidates(column: str, actual: Any) -> tuple[Any, ...]:
    if column in BOOLEANS:
        return (not actual,)
    if column == "names":
        return (replace(actual, embedding="elsewhere"), replace(actual, final_norm="elsewhere"))
    return OTHERS[column]


def _is_same(value: Any, own: Any, actual: Any) -> bool:
    if isinstance(own, Rounded):
        own = own.value
    if isinstance(own, Mlp) and isinstance(value, Mlp) and own.kind == value.kind:
        return True  # the bias of its projections is a column of its own
    return value == own or (value == actual and not isinstance(actual, Field))


def _label(value: Any) -> str:
    return type(value).__name__ if dataclasses.is_dataclass(value) else str(value).replace(" ", "")[:40]
