"""What the layers of a model share during one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

from kernelet.layers.rotary import RopeRows

if TYPE_CHECKING:
    from kernelet.layers.attention import AttentionLayer
    from kernelet.layers.norm import Norm
    from kernelet.layers.weights import Layer


@dataclass(slots=True)
class Step:
    """One step.

    Attributes:
        attention: Metadata of each cache group, by group index.
        ropes: Rows of each rotary embedding of the model, by its name.
    """

    attention: Mapping[int, Any]
    ropes: Mapping[str, RopeRows]


@dataclass(frozen=True, eq=False, kw_only=True)
class PreNormParts:
    """A decoder layer of two blocks, each behind a norm.

    ``h = residual + scale * attention(attention_norm(residual))``, then ``h + scale * mlp(mlp_norm(h))``.
    """

    attention_norm: Norm
    attention: AttentionLayer
    mlp_norm: Norm
    mlp: Layer
    scale: float


class ComposedLayer(Protocol):
    """A decoder layer as the op ``decoder_layer`` sees it."""

    @property
    def index(self) -> int:
        """Its place in the model, the first is 0; the same on every rank."""
        ...

    @property
    def parts(self) -> PreNormParts | None:
        """What ``compose`` computes, for an op that does it at once; None: something else. Since op 1.2.

        A layer of a package that was written before has no such attribute.
        """
        ...

    def compose(self, residual: Tensor, step: Step) -> Tensor:
        """[tokens, hidden] -> the same, from the ops below."""
        ...
