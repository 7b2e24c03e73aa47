"""What a worker tells of a model before any weight is loaded: how each is stored and computed, and the memory."""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec


class WeightPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A weight of one rank before it is loaded. Since executor 1.3.

    Attributes:
        name: The layer's name; where its parts are stored differently, with the parts.
        role: What it is used for; empty for what no weight kernel computes with, e.g. a norm.
        shape: Of this rank.
        scheme: How it is stored, in words.
        kernel: Name of the weight kernel's offer.
        nbytes: As stored; 0 for one that another layer's weight is.
    """

    name: str
    role: str
    shape: tuple[int, ...]
    scheme: str
    kernel: str
    nbytes: int


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank needs of a model, in bytes. Since executor 1.3.

    Attributes:
        weights: Every weight.
        activation_bytes: Of the largest step.
        token_bytes: Of a token in the KV cache.
    """

    weights: tuple[WeightPlan, ...]
    activation_bytes: int
    token_bytes: int


class Inspect(ABC):
    """Mixin of a ``Worker`` that can tell what a model needs. Since executor 1.3."""

    @abstractmethod
    def inspect(self) -> Inspection:
        """What rank 0 needs, without reading weights; called in the place of all else but ``shutdown``.

        Raises:
            SelectionError: no kernel serves a weight.
            UnsupportedModelError: the model is not served.
        """
