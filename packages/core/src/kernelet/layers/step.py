"""What the layers of a model share during one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from kernelet.layers.rotary import RopeRows


@dataclass(slots=True)
class Step:
    """One step.

    Attributes:
        attention: Metadata of each cache group, by group index.
        ropes: Rows of each rotary embedding of the model, by its name.
    """

    attention: Mapping[int, Any]
    ropes: Mapping[str, RopeRows]


class ComposedLayer(Protocol):
    """A decoder layer as the op ``decoder_layer`` sees it."""

    @property
    def index(self) -> int:
        """Its place in the model, the first is 0; the same on every rank."""
        ...

    def compose(self, residual: Tensor, step: Step) -> Tensor:
        """[tokens, hidden] -> the same, from the ops below."""
        ...
