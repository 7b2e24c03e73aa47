"""A grammar that answers use."""

from __future__ import annotations

from typing import Final

from kernelet.contracts.structured import CompiledGrammar, Grammar
from kernelet_structured_lmfe.answer import LmfeAnswer
from kernelet_structured_lmfe.graph import Graph
from kernelet_structured_lmfe.place import MOST_BYTES, Places
from kernelet_structured_lmfe.tokens import Tokens

OBJECT_BYTES: Final = 30
"""Bytes of objects for one of a graph that is packed, about."""


class LmfeCompiled(CompiledGrammar):
    """A graph, and the places where answers have been.

    Args:
        graph: The rules.
        tokens: The vocabulary.
        packed: Bytes of the graph when it was packed.
    """

    def __init__(self, graph: Graph, tokens: Tokens, packed: int) -> None:
        self._places = Places(graph)
        self._tokens = tokens
        self._num_bytes = MOST_BYTES + OBJECT_BYTES * packed

    @property
    def num_bytes(self) -> int:
        return self._num_bytes

    def start(self) -> Grammar:
        return LmfeAnswer(self._tokens, [self._places.start])
