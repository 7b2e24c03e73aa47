"""Where norms and residual additions stand in a decoder layer, one class each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from torch import Tensor, nn

from kernelet.layers.attention import AttentionLayer
from kernelet.layers.mlp import GatedMLP, PlainMLP
from kernelet.layers.moe import MixtureOfExperts
from kernelet.layers.norm import Norm
from kernelet.layers.ops import OpTable
from kernelet.layers.step import PreNormParts, Step

FeedForward = GatedMLP | PlainMLP | MixtureOfExperts


class DecoderLayer(nn.Module):
    """Attention and a feed-forward network around a residual stream.

    The stream is in the wide dtype, so that sums over many layers are not rounded to 16 bits each time.

    Attributes:
        norm_names: Norms that this placement has; each is an attribute and a name in ``Names``.
        index: Place in the model.
        scale: Factor of what is added to the residual stream.
    """

    norm_names: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        ops: OpTable,
        index: int,
        attention: AttentionLayer,
        mlp: FeedForward,
        norms: Mapping[str, Norm],
        scale: float,
    ) -> None:
        super().__init__()
        self.ops = ops
        self.index = index
        self.attention = attention
        self.mlp = mlp
        self.scale = scale
        for name in self.norm_names:
            setattr(self, name, norms[name])

    @property
    def parts(self) -> PreNormParts | None:
        """See ``ComposedLayer``."""
        return None

    def compose(self, residual: Tensor, step: Step) -> Tensor:
        """[tokens, hidden] -> the same."""
        raise NotImplementedError


class PreNorm(DecoderLayer):
    """Norm before each block."""

    norm_names = ("attention_norm", "mlp_norm")
    attention_norm: Norm
    mlp_norm: Norm

    @property
    def parts(self) -> PreNormParts:
        return PreNormParts(
            attention_norm=self.attention_norm,
            attention=self.attention,
            mlp_norm=self.mlp_norm,
            mlp=self.mlp,
            scale=self.scale,
        )

    def compose(self, residual: Tensor, step: Step) -> Tensor:
        mixed = self.attention.forward(self.attention_norm.forward(residual), step)
        x, residual = self.ops.add_norm(residual, mixed, self.scale, self.mlp_norm)
        return self.ops.add(residual, self.mlp.forward(x), self.scale)


class PostNorm(DecoderLayer):
    """Norm after each block, before the addition."""

    norm_names = ("post_attention_norm", "post_mlp_norm")
    post_attention_norm: Norm
    post_mlp_norm: Norm

    def compose(self, residual: Tensor, step: Step) -> Tensor:
        dtype = self.post_mlp_norm.dtype
        mixed = self.post_attention_norm.forward(self.attention.forward(residual.to(dtype), step))
        residual = self.ops.add(residual, mixed, self.scale)
        fed = self.post_mlp_norm.forward(self.mlp.forward(residual.to(dtype)))
        return self.ops.add(residual, fed, self.scale)


class SandwichNorm(DecoderLayer):
    """Norms before and after each block."""

    norm_names = ("attention_norm", "post_attention_norm", "mlp_norm", "post_mlp_norm")
    attention_norm: Norm
    post_attention_norm: Norm
    mlp_norm: Norm
    post_mlp_norm: Norm

    def compose(self, residual: Tensor, step: Step) -> Tensor:
        mixed = self.attention.forward(self.attention_norm.forward(residual), step)
        mixed = self.post_attention_norm.forward(mixed)
        x, residual = self.ops.add_norm(residual, mixed, self.scale, self.mlp_norm)
        return self.ops.add(residual, self.post_mlp_norm.forward(self.mlp.forward(x)), self.scale)


class Parallel(DecoderLayer):
    """Both blocks read the residual stream, each through its own norm."""

    norm_names = ("attention_norm", "mlp_norm")
    attention_norm: Norm
    mlp_norm: Norm

    def compose(self, residual: Tensor, step: Step) -> Tensor:
        mixed = self.attention.forward(self.attention_norm.forward(residual), step)
        fed = self.mlp.forward(self.mlp_norm.forward(residual))
        return self.ops.add(residual, self.ops.add(fed, mixed, 1.0), self.scale)


class ParallelShared(DecoderLayer):
    """Both blocks read the residual stream through one norm."""

    norm_names = ("attention_norm",)
    attention_norm: Norm

    def compose(self, residual: Tensor, step: Step) -> Tensor:
        x = self.attention_norm.forward(residual)
        mixed = self.attention.forward(x, step)
        return self.ops.add(residual, self.ops.add(mixed, self.mlp.forward(x), 1.0), self.scale)


PLACEMENTS: Mapping[str, type[DecoderLayer]] = MappingProxyType(
    {
        "pre": PreNorm,
        "post": PostNorm,
        "sandwich": SandwichNorm,
        "parallel": Parallel,
        "parallel_shared": ParallelShared,
    }
)
"""Placements by their name in a row."""
