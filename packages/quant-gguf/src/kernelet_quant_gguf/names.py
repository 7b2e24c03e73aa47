"""Tensors of a file under the names of Hugging Face: which rows of which tensor, in which order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_gguf.architectures import ARCHITECTURES, Architecture
from kernelet_quant_gguf.file import FileTensor, GGUFFile

ARCHITECTURE = "general.architecture"
_IN_LAYER = re.compile(r"blk\.(\d+)\.([a-z_]+)(?:\.(\d+))?\.(weight|bias)")
_OUTSIDE = re.compile(r"([a-z_]+)\.(weight|bias)")
_BUFFERS = re.compile(
    r"rope_freqs\.weight|rope_factors_(long|short)\.weight|blk\.\d+\.(attn_rot_embd|rope_freqs)\.weight"
)
"""Not weights: they become part of config.json."""


@dataclass(frozen=True)
class Order:
    """Rows of Hugging Face are [heads, parts, size]; the file has these axes in another order.

    Attributes:
        heads: Number of heads.
        parts: Halves of a head that is rotated, or query, key and value.
        outside: The file has [parts, heads, size], else [heads, size, parts].
    """

    heads: int
    parts: int
    outside: bool = False

    def stored(self, rows: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """The axes of so many rows in the file, and in which order they are Hugging Face's.

        Raises:
            WeightsError: so many rows are no heads.
        """
        size, left = divmod(rows, self.heads * self.parts)
        if left:
            raise WeightsError(f"{rows} rows are not those of {self.heads} heads")
        if self.outside:
            return (self.parts, self.heads, size), (1, 0, 2)
        return (self.heads, size, self.parts), (0, 2, 1)


@dataclass(frozen=True)
class Piece:
    """What a tensor of Hugging Face is in the file.

    Attributes:
        tensor: The tensor that holds it.
        shape: Its shape.
        first: Its first row there, experts counted through.
        order: The order of its rows; None: as they are.
        offset: What the file has added to the values.
    """

    tensor: FileTensor
    shape: tuple[int, ...]
    first: int = 0
    order: Order | None = None
    offset: float = 0.0

    @property
    def stored(self) -> tuple[int, ...]:
        """Shape as it is stored: a row of blocks is a row of bytes."""
        kind = self.tensor.type
        return self.shape if kind.scheme is None else (*self.shape[:-1], kind.row_bytes(self.shape[-1]))


def architecture_of(file: GGUFFile) -> Architecture:
    """The architecture of a file.

    Raises:
        UnsupportedModelError: it is not served.
    """
    name = file.fields.get(ARCHITECTURE)
    found = [one for one in ARCHITECTURES if one.gguf == name]
    if not found:
        served = ", ".join(sorted({one.gguf for one in ARCHITECTURES}))
        raise UnsupportedModelError(
            f"{file.path} holds a model of the architecture {name!r}, which is not served; served are {served}"
        )
    if file.fields.get(f"{name}.expert_count"):
        found = [one for one in found if one.experts] or found
    elif file.fields.get(f"{name}.attention.sliding_window"):
        found = [one for one in found if "attention.sliding_window" in one.keys] or found
    return found[0]


def heads_of(architecture: Architecture, fields: Mapping[str, Any]) -> tuple[int, int]:
    """Query heads, and key and value heads.

    Raises:
        UnsupportedModelError: the file does not say it, or layers differ.
    """
    heads = one_of(fields, f"{architecture.gguf}.attention.head_count")
    if heads is None:
        raise UnsupportedModelError(f"the file does not say {architecture.gguf}.attention.head_count")
    return int(heads), int(one_of(fields, f"{architecture.gguf}.attention.head_count_kv") or heads)


def one_of(fields: Mapping[str, Any], key: str) -> Any:
    """A value that all layers share, which a file may list; None: the file does not say it.

    Raises:
        UnsupportedModelError: layers differ.
    """
    value = fields.get(key)
    if not isinstance(value, list):
        return value
    if len(set(map(str, value))) != 1:
        raise UnsupportedModelError(f"{key} of the file differs from layer to layer, which is not served")
    return value[0]


def pieces_of(architecture: Architecture, file: GGUFFile, fields: Mapping[str, Any]) -> dict[str, Piece]:
    """All tensors of a file under Hugging Face's names.

    Args:
        architecture: Of the model.
        file: One of the model's files.
        fields: What the model's first file says.

    Raises:
        UnsupportedModelError: a tensor that the architecture does not have; names it.
    """
    found: dict[str, Piece] = {}
    for tensor in file.tensors.values():
        if _BUFFERS.fullmatch(tensor.name):
            continue
        named = list(_named(architecture, tensor, fields))
        if not named:
            raise UnsupportedModelError(
                f"{file.path}: tensor {tensor.name} is none of a model of the architecture {architecture.gguf!r} "
                f"({architecture.hf})"
            )
        found.update(named)
    return found


def _named(architecture: Architecture, tensor: FileTensor, fields: Mapping[str, Any]) -> Iterator[tuple[str, Piece]]:
    if match := _OUTSIDE.fullmatch(tensor.name):
        if match[1] in architecture.outer:
            yield _whole(architecture, tensor, f"{architecture.outer[match[1]]}.{match[2]}", None)
        return
    if not (match := _IN_LAYER.fullmatch(tensor.name)):
        return
    layer, module, expert, kind = match.groups()
    prefix = architecture.prefix.format(layer=layer)
    heads, kv_heads = heads_of(architecture, fields)
    if expert is not None:  # files of 2023 have a tensor an expert
        if f"{module}_exps" in architecture.experts:
            name = architecture.experts[f"{module}_exps"].format(expert=expert)
            yield _whole(architecture, tensor, f"{prefix}.{name}.{kind}", None)
    elif module in architecture.layer:
        order = order_of(architecture, module, heads, kv_heads)
        yield _whole(architecture, tensor, f"{prefix}.{architecture.layer[module]}.{kind}", order)
    elif module in architecture.experts and len(tensor.shape) == 3:
        for number in range(tensor.shape[0]):
            name = architecture.experts[module].format(expert=number)
            yield f"{prefix}.{name}.{kind}", Piece(tensor, tensor.shape[1:], number * tensor.shape[1])
    elif module == "attn_qkv" and "attn_q" in architecture.layer:
        yield from _fused(architecture, tensor, prefix, kind, (heads, kv_heads))


def _whole(architecture: Architecture, tensor: FileTensor, name: str, order: Order | None) -> tuple[str, Piece]:
    offset = architecture.norm_offset if name.endswith("norm.weight") else 0.0
    return name, Piece(tensor, tensor.shape, order=order, offset=offset)


def _fused(
    architecture: Architecture, tensor: FileTensor, prefix: str, kind: str, heads: tuple[int, int]
) -> Iterator[tuple[str, Piece]]:
    """Query, key and value below each other, of an architecture that has them apart."""
    size = tensor.shape[0] // (heads[0] + 2 * heads[1])
    first = 0
    for module, count in zip(("attn_q", "attn_k", "attn_v"), (heads[0], heads[1], heads[1]), strict=True):
        order = order_of(architecture, module, *heads)
        yield (
            f"{prefix}.{architecture.layer[module]}.{kind}",
            Piece(tensor, (count * size, *tensor.shape[1:]), first, order),
        )
        first += count * size


def order_of(architecture: Architecture, module: str, heads: int, kv_heads: int) -> Order | None:
    """The order in which the file has the rows of a module; None: as Hugging Face has them."""
    if architecture.rotated and module in {"attn_q", "attn_k"}:
        return Order(heads if module == "attn_q" else kv_heads, 2)
    if architecture.interleaved and module == "attn_qkv":
        return Order(heads, 3, outside=True)
    return None
