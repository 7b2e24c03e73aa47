"""The op ``decoder_layer``: one call of the extension for a layer with a norm before each block."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import Op
from kernelet.layers.attention import AttentionLayer
from kernelet.layers.linear import Linear, RowParallelLinear
from kernelet.layers.mlp import GatedMLP, PlainMLP
from kernelet.layers.norm import Norm
from kernelet.layers.step import ComposedLayer, PreNormParts, Step
from kernelet_platform_cpu.attention.native_backend import NativePagedAttention
from kernelet_platform_cpu.linear.packed import number_of, packed_linears
from kernelet_platform_cpu.native import required
from kernelet_platform_cpu.ops.composite import norm_kind
from kernelet_platform_cpu.ops.elementary import ACTIVATIONS, RMS, rotation_of
from kernelet_platform_cpu.ops.rows import address

Network = GatedMLP | PlainMLP


class Rotation(NamedTuple):
    """A rotation of a step: its arguments of the extension, and the tensors that hold what they point to."""

    arguments: tuple[int, int, int, int, bool]
    held: tuple[Tensor, Tensor]


class NativeDecoderLayer(Op):
    """Computes what the layer's own composition computes with the ops of this package, bit by bit, at once.

    It serves layers whose weights are packed by the extension and whose attention is ``native-paged``; all others
    compose themselves. Each layer is looked at once, at its first step.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._work = required().Workspace()
        self._fused: dict[int, tuple[ComposedLayer, FusedLayer | None]] = {}
        self._step: Step | None = None
        self._rotations: dict[str, Rotation] = {}

    def __call__(self, layer: ComposedLayer, residual: Tensor, step: Step) -> Tensor:
        """[tokens, hidden] -> the same."""
        known, fused = self._fused.get(id(layer), (None, None))
        if known is not layer or (fused is not None and fused.is_stale()):
            fused = fuse(layer)
            self._fused[id(layer)] = (layer, fused)
        if fused is None or residual.dtype is not fused.wide or not residual.is_contiguous():
            return layer.compose(residual, step)
        if step is not self._step:
            self._step, self._rotations = step, {}
        out = torch.empty_like(residual)
        watch = fused.attention.watch
        if watch is not None:
            watch.before(fused.attention.name)
        fused.native.run(
            residual.data_ptr(),
            out.data_ptr(),
            step.attention[fused.group].native,
            *self._rotation(fused.rope),
            self._work,
        )
        if watch is not None:
            watch.after(fused.attention.name)
        return out

    def _rotation(self, name: str | None) -> tuple[int, int, int, int, bool]:
        """One rotation of the step, as ``DecoderLayer.run`` takes it."""
        if name is None:
            return (0, 0, 0, 0, False)
        if name not in self._rotations:
            assert self._step is not None
            rope = self._step.ropes[name]
            cos, sin, stride = rotation_of(rope)
            arguments = (cos.data_ptr(), sin.data_ptr(), stride, cos.shape[-1], rope.interleaved)
            self._rotations[name] = Rotation(arguments, (cos, sin))
        return self._rotations[name].arguments


class FusedLayer:
    """A layer as the extension has it.

    Attributes:
        native: ``DecoderLayer`` of the extension.
        wide: Dtype of the residual stream.
        group: Index of the attention's metadata in ``Step.attention``.
        rope: Name of the rotation, None for none.
        attention: The layer's.
    """

    def __init__(self, parts: PreNormParts, linears: tuple[Linear, ...], bound: tuple[Any, Any, int]) -> None:
        attention, cache, self.group = bound
        self.rope = parts.attention.rope
        self.wide = parts.attention_norm.weight.dtype
        self._held = tuple((linear, linear.prepared) for linear in linears)
        self.attention, self._bound = parts.attention, bound
        heads, mlp = parts.attention.heads, parts.mlp
        assert isinstance(mlp, Network)
        # what the extension reads is held by the layer, but for sinks of another form
        self._sinks = None if parts.attention.sinks is None else parts.attention.sinks.contiguous()
        module = required()
        qkv, output, up, down = (
            module.LinearWeights(weight=packed(linear.prepared), bias=address(linear.bias)) for linear in linears
        )
        self.native: Any = module.DecoderLayer(
            dtype=number_of(parts.attention_norm.dtype),
            scale=parts.scale,
            attention_norm=_norm(parts.attention_norm),
            mlp_norm=_norm(parts.mlp_norm),
            qkv=qkv,
            output=output,
            up=up,
            down=down,
            attention=attention.layer,
            query_norm=0 if heads.q_norm is None else heads.q_norm.weight.data_ptr(),
            query_eps=0.0 if heads.q_norm is None else heads.q_norm.eps,
            key_norm=0 if heads.k_norm is None else heads.k_norm.weight.data_ptr(),
            key_eps=0.0 if heads.k_norm is None else heads.k_norm.eps,
            sinks=address(self._sinks),
            cache=cache.data_ptr(),
            activation=ACTIVATIONS.index(mlp.activation),
            gated=isinstance(mlp, GatedMLP),
        )

    def is_stale(self) -> bool:
        """Whether a weight was prepared again, or the attention bound again."""
        if self.attention.bound is not self._bound:
            return True
        for linear, kept in self._held:  # noqa: SIM110 - a generator would cost more than what it looks at
            if linear.prepared is not kept:
                return True
        return False


def fuse(layer: ComposedLayer) -> FusedLayer | None:
    """The layer as the extension has it; None: it is of another kind."""
    parts: PreNormParts | None = getattr(layer, "parts", None)
    if parts is None or not isinstance(parts.mlp, Network) or type(parts.mlp) not in {GatedMLP, PlainMLP}:
        return None
    attention, mlp = parts.attention, parts.mlp
    bound = attention.bound
    up = mlp.gate_up if isinstance(mlp, GatedMLP) else mlp.up
    linears: tuple[Linear, ...] = (attention.qkv, attention.output, up, mlp.down)
    served = (
        type(attention) is AttentionLayer
        and bound is not None
        and type(bound[0]) is NativePagedAttention
        and all(norm_kind(norm) is not None for norm in (parts.attention_norm, parts.mlp_norm))
        and _serves_heads(attention)
        and all(_serves_linear(linear) for linear in linears)
        and mlp.activation in ACTIVATIONS
    )
    return FusedLayer(parts, linears, bound) if served and bound is not None else None


def packed(prepared: Any) -> Any:
    """The one ``PackedLinear`` of the extension that a weight kernel prepared; None: there is none."""
    linears = packed_linears(prepared)
    return linears[0] if len(linears) == 1 else None


def _serves_heads(attention: AttentionLayer) -> bool:
    heads = attention.heads
    norms = [norm for norm in (heads.q_norm, heads.k_norm) if norm is not None]
    return heads.clip is None and not (norms and heads.whole) and all(norm_kind(norm) == RMS for norm in norms)


def _serves_linear(linear: Linear) -> bool:
    alone = not isinstance(linear, RowParallelLinear) or linear.parallel.size == 1
    plain = type(linear).forward in {Linear.forward, RowParallelLinear.forward}
    bias = linear.bias is None or linear.bias.is_contiguous()
    return alone and plain and bias and packed(linear.prepared) is not None


def _norm(norm: Norm) -> Any:
    return required().NormWeights(
        kind=norm_kind(norm), weight=norm.weight.data_ptr(), bias=address(norm.bias), eps=norm.eps
    )
