"""Calls of tools, as a family writes them: which text a request's tools and its ``tool_choice`` allow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from kernelet.contracts.parsing import CallSyntax, ParserTable
from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Text, Union
from kernelet.request.structured import Marker, State
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.tags.outline import Choice, Many, Node, Ruled, Series, Token, Triggered, Words, flat, series_of
from kernelet.structured.tags.read import Lower, lower_at
from kernelet.structured.tags.states import states_of

KIND = "tool_calls"

ToolChoice = Literal["auto", "required", "named"]

_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]+")
_NUMBER: Final = GrammarRules(
    {"root": Union((Text("0"), Concat((Chars(((49, 57),)), Repeat(Chars(((48, 57),)), 0, 2)))))}
)


class ToolCalls(msgspec.Struct, frozen=True, kw_only=True):
    """Which calls an answer may hold: data that can be sent.

    Attributes:
        syntax: How the family writes calls; None: it does not say, and they cannot be constrained.
        openings: The texts of each marker with which calls begin in free text.
        bare: Calls begin without a marker too.
        tools: Functions: ``name``, ``parameters``, ``strict``.
        choice: ``"auto"``: text, in which calls may stand. ``"required"``: calls, at least one. ``"named"``: one call
            of the only tool.
        parallel: More than one call may come.
        excludes: Markers that must not come in text: those that would open reasoning.
        holds_text: Where no call comes, the text is as ``schema`` says.
        schema: A JSON schema.
    """

    syntax: CallSyntax | None
    openings: tuple[tuple[str, ...], ...]
    tools: tuple[dict[str, Any], ...]
    choice: ToolChoice = "auto"
    parallel: bool = True
    bare: bool = False
    excludes: tuple[str, ...] = ()
    holds_text: bool = False
    schema: dict[str, Any] | bool = True


def tool_calls(
    table: ParserTable,
    tools: Sequence[Mapping[str, Any]],
    tool_choice: ToolChoice | str = "auto",
    *,
    parallel: bool = True,
    excludes: Sequence[str] = (),
) -> ToolCalls:
    """What a request's tools allow, in the words of a tool parser.

    Args:
        table: Of the tool parser.
        tools: Functions.
        tool_choice: ``"auto"``, ``"required"``, or the name of the only function that may be called.
        parallel: More than one call may come.
        excludes: Markers that must not come in text.

    Raises:
        InvalidConstraintError: there is no such function.
    """
    chosen = [dict(tool) for tool in tools]
    choice: ToolChoice = "auto" if tool_choice == "auto" else "required"
    if tool_choice not in {"auto", "required"}:
        choice, chosen = "named", [tool for tool in chosen if tool["name"] == tool_choice]
    if not chosen:
        raise InvalidConstraintError(f"tool_choice: there is no tool {tool_choice!r}")
    opens = [exit_ for exit_ in table.content_exits if exit_.opens or exit_.keeps]
    return ToolCalls(
        syntax=table.call_syntax,
        openings=tuple(exit_.parts for exit_ in opens if not exit_.at_start),
        bare=any(exit_.at_start for exit_ in opens),
        tools=tuple(chosen),
        choice=choice,
        parallel=parallel,
        excludes=tuple(excludes),
    )


def call_states(
    calls: ToolCalls, options: JsonOptions, tokens: Mapping[str, int] | None = None, lower: Lower | None = None
) -> tuple[State, ...]:
    """The states of an answer.

    Args:
        calls: What it may hold.
        options: Of the parameters' schemas.
        tokens: Texts that are one token of the vocabulary.
        lower: Writes a schema as rules; None: core's.

    Raises:
        UnenforcedError: calls of this parser cannot be constrained, a schema cannot be enforced, or a begin of calls
            not be told from text.
        InvalidConstraintError: a schema means nothing.
    """
    if calls.syntax is None:
        asks = "tools" if calls.choice == "auto" else "tool_choice"
        raise UnenforcedError([Refusal(asks, "calls of the tool parser that runs cannot be constrained")])
    return states_of(_Outline(calls, calls.syntax, options, tokens or {}, lower).node(), KIND)


def arguments_schema(tool: Mapping[str, Any], choice: ToolChoice) -> object:
    """What the arguments of a function's calls are held to: as its parameters say, of which it may have none."""
    strict = tool.get("strict")
    holds = choice != "auto" if strict is None else strict
    if holds and tool.get("parameters") is None:
        return {"type": "object", "additionalProperties": False}
    schema = tool.get("parameters") if holds else None
    if schema is None or schema is True or (isinstance(schema, dict) and "type" not in schema):
        return {"type": "object"} | (schema if isinstance(schema, dict) else {})
    return schema


class _Outline:
    """What an answer is made of."""

    def __init__(
        self,
        calls: ToolCalls,
        syntax: CallSyntax,
        options: JsonOptions,
        tokens: Mapping[str, int],
        lower: Lower | None,
    ) -> None:
        self._calls = calls
        self._syntax = syntax
        self._options = options
        self._tokens = tokens
        self._lower = lower

    def node(self) -> Node:
        """All of it."""
        calls, syntax = self._calls, self._syntax
        one = Choice(tuple(self._call(tool, place) for place, tool in enumerate(calls.tools)))
        several = calls.parallel and not syntax.one and calls.choice != "named"
        begin, end = self._series(syntax.begin), self._series(syntax.end)
        if calls.holds_text and calls.bare:
            reason = "calls of this tool parser begin without a marker, as text of a form may: leave one of them out"
            raise UnenforcedError([Refusal("tools", reason)])
        if calls.choice != "auto" or calls.holds_text:
            only = Series((begin, Many(one, self._series(syntax.separator)) if several else one, end))
            return Choice((only, lower_at("", calls.schema, self._options, self._lower))) if calls.holds_text else only
        if several and (syntax.begin or syntax.end):
            one = Choice((Many(one, self._series(syntax.separator)),))
        items = tuple(Series((begin, item, end)) for item in one.items)
        trigger, others = self._openings()
        excludes = (*others, *(self._marker(text) for text in calls.excludes))
        return Triggered((trigger,), items, once=not several, excludes=tuple(dict.fromkeys(excludes)))

    def _call(self, tool: Mapping[str, Any], place: int) -> Series:
        syntax, name, path = self._syntax, tool["name"], f"/tools/{place}/function"
        if not _NAME.fullmatch(name):
            reason = "constrained calls need a name of letters, digits, '_', '-' and '.'"
            raise UnenforcedError([Refusal(f"{path}/name", reason)])
        schema = arguments_schema(tool, self._calls.choice)
        arguments = lower_at(f"{path}/parameters", schema, self._options, self._lower)
        number = (Words(syntax.number), Ruled(_NUMBER)) if syntax.number else ()
        return Series(
            (
                self._series(syntax.before + name),
                *number,
                self._series(syntax.between),
                arguments,
                self._series(syntax.after),
            )
        )

    def _openings(self) -> tuple[Words | Token, tuple[Marker, ...]]:
        """The marker of text with which constrained calls begin, and those that would begin others."""
        calls = self._calls
        if calls.bare:
            reason = "calls of this tool parser begin without a marker: name a function, or require a call"
            raise UnenforcedError([Refusal("tools", reason)])
        text = self._syntax.begin + self._syntax.before
        found: list[Words | Token] = []
        others = []
        for parts in calls.openings:
            head = flat((self._series(parts[0]),))[0]
            if len(parts) > 1 and not isinstance(head, Token):
                reason = "calls of this tool parser begin with a word: name a function, or require a call"
                raise UnenforcedError([Refusal("tools", reason)])
            if text.startswith(parts[0]) and isinstance(head, Words | Token):
                found.append(head)
            else:
                others.append(self._marker(parts[0]))
        if len(found) != 1:
            raise UnenforcedError([Refusal("tools", "the tool parser does not say with which marker calls begin")])
        return found[0], tuple(others)

    def _marker(self, text: str) -> Marker:
        return Marker(text=text, token_id=self._tokens.get(text))

    def _series(self, text: str) -> Series:
        return series_of(text, self._tokens)
