"""How the answers of a request are parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kernelet.contracts.parsing import ParserTable
from kernelet.engine.reasoning import Reasoner
from kernelet.structured.tags.calls import ToolCalls
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable


@dataclass(frozen=True, kw_only=True)
class OutputParsing:
    """How the answers of a request are parsed.

    Attributes:
        table: Shared by its choices.
        tools: The functions that may be called.
        drops_calls: Neither calls nor their markup become part of a message.
        marker_ids: Tokens that are markers: the parser sees them whether or not they are shown.
        label: Which parsers run, for messages.
        calls: What the answers are held to; None: the model is free.
        offered: What they are held to where their text must be of a form; None: its calls cannot be told from that.
        only_calls: They are held to calls: what there is of one that was cut is no content.
        reasoner: The reasoning parser that runs.
    """

    table: CompiledTable
    tools: tuple[Mapping[str, Any], ...] = ()
    drops_calls: bool = False
    marker_ids: frozenset[int] = frozenset()
    label: str = ""
    calls: ToolCalls | None = None
    offered: ToolCalls | None = None
    only_calls: bool = False
    reasoner: Reasoner | None = None

    def held(self, *, reasons: bool) -> OutputParsing:
        """The same for answers whose content is held to a form: nothing in it is a marker.

        Args:
            reasons: The model may think before.

        Raises:
            RequestFailedError: the reasoning parser's table cannot be used so.
        """
        reasons = reasons and self.reasoner is not None
        table = self.reasoner.held() if reasons and self.reasoner is not None else CompiledTable(ParserTable())
        return replace(self, table=table, tools=(), marker_ids=self.marker_ids if reasons else frozenset())

    def held_to_calls(self, calls: ToolCalls) -> OutputParsing:
        """The same for answers that are held to calls; in text of a form that may come instead nothing is a marker."""
        table = self.table.table
        if not calls.holds_text:
            return replace(self, only_calls=calls.choice != "auto")
        exits = tuple(replace(one, at_start=True) for one in table.content_exits)
        held = CompiledTable(replace(table, content_exits=exits), self.table.tokens.__contains__)
        return replace(self, table=held)

    def new_parser(self) -> OutputParser:
        """The parser of one choice."""
        return OutputParser(self.table, self.tools, drops_calls=self.drops_calls, only_calls=self.only_calls)
