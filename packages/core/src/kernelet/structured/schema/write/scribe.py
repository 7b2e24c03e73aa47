"""What the writers of all shapes share."""

from __future__ import annotations

from collections.abc import Callable

from kernelet.contracts.structured import Expression
from kernelet.structured.rules import RuleWriter
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.shapes import NodeId
from kernelet.structured.schema.write.space import Punctuation
from kernelet.structured.schema.write.text import Characters


class Scribe:
    """Tools for one schema.

    Args:
        options: How values are written.
        value: See ``value``.

    Attributes:
        rules: Where rules go.
        marks: Between tokens.
        characters: Inside strings.
        value: Writes the values of a node.
    """

    def __init__(self, options: JsonOptions, value: Callable[[NodeId], Expression]) -> None:
        self.rules = RuleWriter()
        self.marks = Punctuation(options.max_whitespace, self.rules)
        self.characters = Characters(self.rules)
        self.value = value
