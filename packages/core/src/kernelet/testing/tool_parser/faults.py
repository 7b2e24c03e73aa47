"""Wrong tool parsers: tables, and machines that run a right one wrongly."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    CallName,
    Exit,
    NameState,
    ParameterValueState,
    ParserContext,
    ParserTable,
    TextState,
    ToolParserOffer,
)
from kernelet.request.message import ParsedMessage
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.parsing.machines import HoldsNothingBack
from kernelet.testing.parsing.suite import Render, Target
from kernelet.testing.tool_parser.reference import json_table, write_json, write_xml, xml_carries, xml_table
from kernelet.testing.tool_parser.suite import ToolParserCapabilities, ToolParserSuite
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser

JSON = ToolParserCapabilities(tokens=("<call>", "</call>"))
XML = ToolParserCapabilities(types="xml", carries=xml_carries)


def suite_of(
    table: Target, render: Render, promises: ToolParserCapabilities, machine: type[OutputParser] = OutputParser
) -> type[ToolParserSuite]:
    """The suite as the author of that table writes it."""

    class Faulty(ToolParserSuite):
        capabilities = promises
        new_parser = machine

        @pytest.fixture
        def offered(self) -> Offered[ToolParserOffer]:
            offer = ToolParserOffer(name="faulty", target=f"{table.__module__}:{table.__qualname__}")
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=table)

        @pytest.fixture
        def render(self) -> Render:
            return render

    return Faulty


# --- tables ----------------------------------------------------------------------------------------


def no_table(_: ParserContext) -> dict[str, object]:
    return {"states": {}}


def goes_nowhere(context: ParserContext) -> ParserTable:
    return replace(json_table(context), content_exits=(Exit("<call>", "a call", opens=True),))


def with_state(table: ParserTable, name: str, state: Any) -> ParserTable:
    return replace(table, states={**table.states, name: state})


def loses_text(context: ParserContext) -> ParserTable:
    table = json_table(context)
    exits = table.states["behind"].exits  # type: ignore[union-attr]
    return with_state(table, "behind", TextState(into="", exits=exits[1:]))


def one_call(context: ParserContext) -> ParserTable:
    table = xml_table(context)
    once = TextState(exits=())
    value = table.states["value"]
    assert isinstance(value, ParameterValueState)
    exits = tuple(replace(exit_, to="end") if exit_.closes else exit_ for exit_ in value.exits)
    return with_state(with_state(table, "value", replace(value, exits=exits)), "end", once)


def ends_at_the_first_mark(context: ParserContext) -> ParserTable:
    ends = (Exit("</p>", "parameters", before="\n"),)
    return with_state(xml_table(context), "value", ParameterValueState(skip="\n", exits=ends))


def never_ends(context: ParserContext) -> ParserTable:
    table = xml_table(context)
    value = table.states["value"]
    assert isinstance(value, ParameterValueState)
    exits = tuple(replace(exit_, closes=False) for exit_ in value.exits)
    return with_state(table, "value", replace(value, exits=exits))


def hands_on(context: ParserContext) -> ParserTable:
    """Each opening mark is looked at by three states before the one that takes it."""
    table = json_table(context)
    keeps = [Exit("<call>", f"look {number}", before="\n", keeps=True) for number in range(4)]
    states = {f"look {number}": TextState(exits=(keeps[number + 1],)) for number in range(3)}
    return replace(
        table,
        states={**table.states, **states, "look 3": TextState(exits=(Exit("<call>", "calls", opens=True),))},
        content_exits=(keeps[0], Exit("</call>", CONTENT)),
    )


def known_only(context: ParserContext) -> ParserTable:
    names = {tool["name"] for tool in context.tools}
    read = lambda text: CallName(text if text in names else "")  # noqa: E731
    return with_state(xml_table(context), "name", NameState(exits=(Exit(">", "parameters"),), read=read))


def last_request() -> Target:
    """What may be called is what the last request said."""
    names: set[str] = set()

    def table(context: ParserContext) -> ParserTable:
        names.clear()
        names.update(tool["name"] for tool in context.tools)
        read = lambda text: CallName(text if text in names else "f")  # noqa: E731
        return with_state(xml_table(context), "name", NameState(exits=(Exit(">", "parameters"),), read=read))

    return table


def numbered(context: ParserContext) -> ParserTable:
    """Calls are numbered over all choices."""
    number = itertools.count()
    read = lambda text: CallName(f"{text}{next(number) or ''}")  # noqa: E731
    return with_state(xml_table(context), "name", NameState(exits=(Exit(">", "parameters"),), read=read))


def one_id(context: ParserContext) -> ParserTable:
    return replace(json_table(context), new_id=lambda: "call_1")


def opens_nothing(context: ParserContext) -> ParserTable:
    return replace(xml_table(context), content_exits=(Exit("<call>", "function", before="\n"),))


def thinks_too(context: ParserContext) -> ParserTable:
    return with_state(json_table(context), REASONING, TextState(into=REASONING, exits=()))


# --- machines --------------------------------------------------------------------------------------


class LosesTheLastBrace(OutputParser):
    def finish(self, *, cut: bool = False) -> ParsedMessage:
        message = super().finish(cut=cut)
        for call in message.tool_calls:
            call.arguments = call.arguments.removesuffix("}}") + "}"
        return message


class WritesAnew(OutputParser):
    def finish(self, *, cut: bool = False) -> ParsedMessage:
        message = super().finish(cut=cut)
        for call in message.tool_calls:
            try:
                call.arguments = json.dumps(json.loads(call.arguments))
            except ValueError:
                continue
        return message


class KnowsNoTypes(OutputParser):
    def __init__(self, table: Any, _: object = (), *, drops_calls: bool = False) -> None:
        super().__init__(table, (), drops_calls=drops_calls)


class DropsNothing(OutputParser):
    def __init__(self, table: Any, tools: Any = (), **_: object) -> None:
        super().__init__(table, tools)


class HalfNames(OutputParser):
    """A call comes out with the first letter of its name."""

    def push(self, spans: Iterable[Span]) -> None:
        known = len(self.message.tool_calls)
        super().push(spans)
        self._names = [*getattr(self, "_names", []), *(call.name for call in self.message.tool_calls[known:])]
        for number, (call, name) in enumerate(zip(self.message.tool_calls, self._names, strict=True)):
            call.name = name[:1] if number >= known else name


class NothingForNothing(OutputParser):
    def finish(self, *, cut: bool = False) -> ParsedMessage:
        message = super().finish(cut=cut)
        for call in message.tool_calls:
            call.arguments = call.arguments if call.arguments != "{}" else ""
        return message


def _anything(text: str) -> bool:
    return text.strip("\n") == text and "</f>" not in text


_TABLES: tuple[tuple[str, Target, Render, ToolParserCapabilities, str], ...] = (
    ("is-no-table", no_table, write_json, JSON, "the target must return a ParserTable"),
    ("has-an-exit-to-nowhere", goes_nowhere, write_json, JSON, "the table must be one that can run"),
    ("loses-text-between-calls", loses_text, write_json, JSON, "text before, between and behind calls"),
    ("takes-one-call", one_call, write_xml, XML, "calls must come out one by one"),
    (
        "ends-a-value-at-marker-text-inside-it",
        ends_at_the_first_mark,
        write_xml,
        replace(XML, carries=_anything),
        "the text of a marker is no marker inside a string",
    ),
    ("never-ends-a-call", never_ends, write_xml, XML, "a call whose end was written is complete"),
    ("looks-at-text-again-and-again", hands_on, write_json, JSON, "a text must be looked at once"),
    ("drops-calls-of-unknown-functions", known_only, write_xml, XML, "a call of a function that nobody declared"),
    ("remembers-the-last-request", last_request(), write_xml, XML, "the target must keep nothing between requests"),
    ("shares-state-between-choices", numbered, write_xml, XML, "choices must share no state"),
    ("gives-all-calls-one-id", one_id, write_json, JSON, "ids of calls must be unique"),
    ("swallows-what-is-no-call", opens_nothing, write_xml, XML, "what never became a call is content"),
    ("has-a-state-of-the-reasoning-parser", thinks_too, write_json, JSON, "must not have a state 'reasoning'"),
)

_MACHINES: tuple[tuple[str, type[OutputParser], str], ...] = (
    ("leaks-a-tag-that-was-cut", HoldsNothingBack, "the message must not depend on where the text is cut"),
    ("loses-the-last-brace", LosesTheLastBrace, "calls must come back as they were rendered"),
    ("writes-arguments-anew", WritesAnew, "arguments must be passed on as generated"),
    ("ignores-tool-choice-none", DropsNothing, "with tool_choice none there must be no call"),
    ("names-a-call-before-its-name-is-whole", HalfNames, "the name and id of a call must not change"),
    ("has-no-object-for-no-arguments", NothingForNothing, "a call without arguments must have an empty object"),
)

FAULTS = (
    *(
        Fault(name=name, suite=suite_of(table, render, promises), says=says)
        for name, table, render, promises, says in _TABLES
    ),
    *(
        Fault(name=name, suite=suite_of(json_table, write_json, JSON, machine), says=says)
        for name, machine, says in _MACHINES
    ),
    Fault(
        name="ignores-the-types-of-parameters",
        suite=suite_of(xml_table, write_xml, XML, KnowsNoTypes),
        says="a value must be read by the types that its schema declares",
    ),
)
