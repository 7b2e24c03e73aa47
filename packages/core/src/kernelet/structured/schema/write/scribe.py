"""What the writers of all shapes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelet.contracts.grammar import Expression
from kernelet.structured.rules import RuleWriter
from kernelet.structured.schema.shapes import NodeId
from kernelet.structured.schema.write.space import Punctuation
from kernelet.structured.schema.write.text import Characters


@dataclass(frozen=True)
class Scribe:
    """Tools for one schema.

    Attributes:
        rules: Where rules go.
        marks: Between tokens.
        characters: Inside strings.
        value: Writes the values of a node.
    """

    rules: RuleWriter
    marks: Punctuation
    characters: Characters
    value: Callable[[NodeId], Expression]
