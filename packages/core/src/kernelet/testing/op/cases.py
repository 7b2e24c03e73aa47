"""How each op of the ladder is called, with all that an engine calls it with; elementary ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernelet.layers.activation import ACTIVATIONS
from kernelet.layers.ops import OpTable
from kernelet.layers.rope_scaling import RopeParameters
from kernelet.layers.rotary import RopeRows, RopeTable
from kernelet.sampling.ops import SAMPLING, SamplingOps
from kernelet.testing.op.draw import MAX_LEN, Draw


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of an op.

    Attributes:
        arguments: What it is given.
        fixed: Those of its tensors that it must not change.
        outputs: What of its result is compared, by name; each [rows, ...].
    """

    arguments: tuple[Any, ...]
    fixed: tuple[Tensor | None, ...]
    outputs: Callable[[Any], Mapping[str, Tensor]] = lambda result: {"result": result}


@dataclass(frozen=True, kw_only=True)
class OpCase:
    """A way to call an op.

    Attributes:
        op: Its name.
        words: What is special.
        make: Draws the inputs.
        grouped: Rows are computed in groups that depend on all rows, so that bits may too.
    """

    op: str
    words: str
    make: Callable[[Draw], Call]
    grouped: bool = False

    def __str__(self) -> str:
        return f"{self.op} ({self.words})"

    def run(self, implementation: Callable[..., Any], draw: Draw) -> Mapping[str, Tensor]:
        """What an implementation makes of the inputs."""
        call = self.make(draw)
        return call.outputs(implementation(*call.arguments))

    def decomposed(self, draw: Draw) -> Mapping[str, Tensor]:
        """What the op's decomposition makes of them."""
        if self.op in SAMPLING:
            return self.run(getattr(SamplingOps(), self.op), draw)
        ops = OpTable(draw.context().plugins, str(draw.dtype).removeprefix("torch."))
        return self.run(getattr(ops, self.op), draw)


def elementary_cases() -> Iterator[OpCase]:
    """All of the elementary ops."""
    for words, source in _NORMED.items():
        yield OpCase(op="rms_norm", words=words, make=_rms_norm(source))
        yield OpCase(op="layer_norm", words=words, make=_layer_norm(source, bias=True))
    yield OpCase(op="layer_norm", words="no bias", make=_layer_norm(_NORMED["rows"], bias=False))
    for interleaved in (False, True):
        for size in (16, 8):
            words = f"{'neighbouring pairs' if interleaved else 'pairs half a head apart'}, {size} of 16 elements"
            yield OpCase(op="rotary", words=words, make=_rotary(size, interleaved=interleaved))
    for name in ACTIVATIONS:
        yield OpCase(op="activation", words=name, make=_activation(name, 4.0, columns=24))
        yield OpCase(op="activation", words=f"{name} of large values", make=_activation(name, 40.0, columns=24))
        yield OpCase(op="act_and_mul", words=name, make=_activation(name, 2.0, columns=48))
    yield OpCase(op="act_and_mul", words="a view", make=_activation("silu", 2.0, columns=48, strided=True))
    for scale in (1.0, 0.25):
        yield OpCase(op="add", words=f"scale {scale}", make=_add(scale, residual=False))
        yield OpCase(op="add", words=f"scale {scale}, to a residual stream", make=_add(scale, residual=True))


_NORMED: Mapping[str, Callable[[Draw], Tensor]] = {
    "rows": lambda draw: draw.row("x", 64),
    "a residual stream": lambda draw: draw.row("x", 64, is_wide=True),
    "heads, a view": lambda draw: draw.row("x", 5, 16)[:, 1:4],
    "large values": lambda draw: draw.row("x", 64).sign() * 60000.0,
    "small values": lambda draw: draw.row("x", 64, scale=1e-3),
    "a large mean": lambda draw: draw.row("x", 64, is_wide=True) + 20.0,
}
"""Inputs of norms. The square of 60000 is infinite in float16."""


def _rms_norm(source: Callable[[Draw], Tensor]) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        x = source(draw)
        weight = draw.weight("weight", x.shape[-1], shift=1.0, scale=0.5, is_wide=True)
        return Call(arguments=(x, weight, 1e-5), fixed=(x, weight))

    return make


def _layer_norm(source: Callable[[Draw], Tensor], *, bias: bool) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        x = source(draw)
        weight = draw.weight("weight", x.shape[-1], shift=1.0, scale=0.5, is_wide=True)
        shift = draw.weight("bias", x.shape[-1], is_wide=True) if bias else None
        return Call(arguments=(x, weight, shift, 1e-5), fixed=(x, weight, shift))

    return make


def rope_of(draw: Draw, size: int, *, interleaved: bool = False) -> RopeRows:
    """Rotation of each row by its position."""
    parameters = RopeParameters(scaling="default", size=size, theta=500.0, max_model_len=MAX_LEN, trained_len=MAX_LEN)
    return RopeTable(draw.context(), parameters, interleaved=interleaved).rows(draw.positions())


def _rotary(size: int, *, interleaved: bool) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        rope = rope_of(draw, size, interleaved=interleaved)
        x = draw.row("qkv", 6, 16)[:, :4]  # query and key heads of a projection; may be overwritten
        return Call(arguments=(x, rope), fixed=(rope.cos, rope.sin))

    return make


def _activation(name: str, scale: float, *, columns: int, strided: bool = False) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        x = draw.row("x", 2 * columns, scale=scale)
        x = x[:, :columns] if strided else x[:, :columns].contiguous()
        return Call(arguments=(x, name), fixed=(x,))

    return make


def _add(scale: float, *, residual: bool) -> Callable[[Draw], Call]:
    def make(draw: Draw) -> Call:
        x, y = draw.row("x", 32, is_wide=residual), draw.row("y", 32)
        return Call(arguments=(x, y, scale), fixed=(x, y))

    return make


def rounds_once(op: str, dtype: torch.dtype) -> bool:
    """Whether an op must be as exact as one rounding of the result: norms of 16-bit inputs are computed in float32."""
    return op in {"rms_norm", "layer_norm"} and dtype.itemsize < 4
