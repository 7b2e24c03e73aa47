"""What is compiled: kernels by shapes and forms, in the configurations that a target's table gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kernelet_attention_triton import configurations
from kernelet_attention_triton.configurations import Configuration, LayerShape, padded
from kernelet_attention_triton.device.attend import JOINED, PARTS, WHOLE, attend, merge
from kernelet_attention_triton.device.rope import rope_write_kv
from kernelet_attention_triton.device.write import write_kv
from kernelet_device_triton.aot.cases import Case
from kernelet_device_triton.device.elements import E4M3FN, INT8, PLAIN
from kernelet_device_triton.targets import Target

ELEMENTS = MappingProxyType({"": PLAIN.value, "e4m3fn": E4M3FN.value, "int8": INT8.value})
STORED = MappingProxyType({"e4m3fn": "*u8", "int8": "*i8"})
NUM_KV_HEADS, BLOCK_SIZE = 8, 16
TYPES = MappingProxyType(
    {
        **dict.fromkeys(("qkv", "query", "key", "value", "sinks", "out"), "*elements"),
        **dict.fromkeys(("scales", "part_sums", "part_stats", "cos", "sin"), "*fp32"),
        **dict.fromkeys(("table", "tiles", "places"), "*i32"),
        **dict.fromkeys(("scale", "value_scale", "key_scale", "soft_cap"), "fp32"),
        "slots": "*i64",
        "masks": "*i64",
    }
)
"""Of arguments; those that are not named are i32."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A layer's.

    Attributes:
        head_size: Of a head.
        group: Heads that share a key head.
        dtype: Of queries, as the compiler calls it.
        cache: Elements of the cache, where they are of another dtype.
        kv_lora_rank: Of a latent layer.
        features: Window, soft cap and sinks.
        tree: The step has draft trees.
        is_default: What a target must serve without spills.
    """

    head_size: int = 128
    group: int = 4
    dtype: str = "bf16"
    cache: str = ""
    kv_lora_rank: int = 0
    features: bool = False
    tree: bool = False
    is_default: bool = False

    @property
    def num_kv_heads(self) -> int:
        return 1 if self.kv_lora_rank else NUM_KV_HEADS

    @property
    def layer(self) -> LayerShape:
        """What the table is asked for."""
        return LayerShape(
            head_size=self.head_size,
            value_size=self.kv_lora_rank or self.head_size,
            group=self.group,
            itemsize=4 if self.dtype == "fp32" else 2,
            is_latent=bool(self.kv_lora_rank),
            cache_dtype=self.cache,
        )

    def __str__(self) -> str:
        extra = ["mla"] * bool(self.kv_lora_rank) + [self.cache] * bool(self.cache)
        extra += ["window, cap, sinks"] * self.features + ["tree"] * self.tree
        return ", ".join((f"{self.dtype} {self.group} x {self.head_size}", *extra))


SHAPES = (
    Shape(is_default=True),
    Shape(head_size=64, group=3, is_default=True),
    Shape(head_size=256, group=2),
    Shape(features=True),
    Shape(cache="e4m3fn"),
    Shape(cache="int8"),
    Shape(dtype="fp16", group=8),
    Shape(dtype="fp32", head_size=64, group=1),
    Shape(tree=True, is_default=True),
    Shape(kv_lora_rank=512, head_size=576, group=16, is_default=True),
    Shape(kv_lora_rank=512, head_size=576, group=16, cache="e4m3fn"),
)


def served(target: Target) -> Iterator[Shape]:
    """The shapes that a target runs."""
    yield from (shape for shape in SHAPES if not configurations.why_not(target, shape.layer))


def cases(target: Target) -> Iterator[Case]:
    """Everything that a target is to run."""
    for shape in served(target):
        few, many = configurations.decode(target, shape.layer), configurations.prefill(target, shape.layer)
        for name, (chosen, mode) in _ways(few, many).items():
            if name == ("prefill" if shape.tree else "parts"):
                continue  # few queries, as those of a tree, are cut in segments of keys; many are not
            if name == "invariant" and not shape.is_default:
                continue
            layer = {**_layer(shape, chosen, target), "block_n": chosen.block_n, "mode": mode}
            yield _case(f"attend, {name}", attend, shape, layer, chosen, fused=name != "invariant")
        written = (bool(shape.cache) or shape.is_default) and not shape.tree
        vector = {
            "block_d": padded(shape.head_size),
            "block_r": configurations.rows_of_write(target, shape.head_size),
        }
        layer = _layer(shape, few, target)
        if (shape.features or shape.is_default) and not shape.tree:
            yield _case("merge", merge, shape, layer, few)
        if written:
            yield _case("write_kv", write_kv, shape, layer | vector, few, fused=False)
        if written and not shape.kv_lora_rank:
            yield _case("rope_write_kv", rope_write_kv, shape, layer | vector, few, fused=False)


def _ways(few: Configuration, many: Configuration) -> dict[str, tuple[Configuration, int]]:
    """How ``attend`` is launched."""
    return {
        "prefill": (many, WHOLE.value),
        "parts": (many, PARTS.value),
        "decode": (few, PARTS.value),
        "invariant": (few, JOINED.value),
    }


def _case(
    kernel: str, function: Any, shape: Shape, layer: Mapping[str, Any], chosen: Configuration, *, fused: bool = True
) -> Case:
    constants = {one: value for one, value in layer.items() if one in function.arg_names}
    named = {"cache": STORED.get(shape.cache, "*elements")}
    kinds = {name: named.get(name, TYPES.get(name, "i32")) for name in function.arg_names if name not in constants}
    multiplies = kernel.startswith("attend") and shape.dtype != "fp32"
    return Case(
        kernel=kernel,
        function=function,
        layer=str(shape),
        tile=f"{chosen.block_m} x {chosen.block_n}" if "block_n" in constants else str(chosen.block_m),
        constants=constants,
        types={name: kind.replace("elements", shape.dtype) for name, kind in kinds.items()},
        num_warps=chosen.num_warps,
        num_stages=chosen.num_stages,
        fused=fused,
        is_default=shape.is_default,
        matrix="" if not multiplies else "large" if chosen.block_m >= 64 else "small",
    )


def _layer(shape: Shape, chosen: Configuration, target: Target) -> dict[str, Any]:
    flags = dict.fromkeys(("has_window", "has_cap", "has_sinks"), shape.features)
    return {
        "num_heads": shape.num_kv_heads * shape.group,
        "num_kv_heads": shape.num_kv_heads,
        "group": shape.group,
        "share": chosen.share,
        "head_size": shape.head_size,
        "value_size": shape.layer.value_size,
        "rotary_size": shape.head_size,
        "interleaved": False,
        "block_size": BLOCK_SIZE,
        "block_m": chosen.block_m,
        "block_d": shape.layer.block_d,
        "block_r": shape.layer.block_r,
        "element": ELEMENTS[shape.cache],
        "native": target.converts_e4m3fn,
        "is_latent": bool(shape.kv_lora_rank),
        "has_tree": shape.tree,
        **flags,
    }
