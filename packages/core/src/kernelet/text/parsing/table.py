"""Tables of a tool and a reasoning parser as one machine's states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    ArgumentsState,
    Exit,
    HeaderState,
    JsonCallsState,
    NameState,
    ParameterNameState,
    ParameterValueState,
    ParserTable,
    PythonCallsState,
    QuotedArgumentsState,
    State,
    TextState,
    check_table,
    exits_of,
)
from kernelet.text.parsing.json_calls import ArgumentsScanner, JsonCallsScanner
from kernelet.text.parsing.marked import (
    ArgumentsTextScanner,
    HeaderScanner,
    NameScanner,
    ParameterNameScanner,
    ParameterValueScanner,
    TextScanner,
)
from kernelet.text.parsing.matcher import Patterns
from kernelet.text.parsing.python_calls import PythonCallsScanner
from kernelet.text.parsing.quoted import QuotedArgumentsScanner

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelet.text.parsing.draft import Draft
    from kernelet.text.parsing.scanner import Scanner


def combine(tool: ParserTable | None, reasoning: ParserTable | None) -> ParserTable:
    """One table of two.

    Args:
        tool: None: calls are not parsed.
        reasoning: None: reasoning is not parsed.

    Raises:
        ValueError: Both have a state of the same name.
    """
    if tool is None or reasoning is None:
        return tool or reasoning or ParserTable()
    if tool.whole and tool.whole == reasoning.whole:
        return tool
    if both := sorted(tool.states.keys() & reasoning.states.keys()):
        raise ValueError(f"tool parser and reasoning parser both have a state {both[0]!r}")
    calls = {name: _with_exits(state, reasoning.content_exits) for name, state in tool.states.items()}
    states = {**calls, **reasoning.states}
    thinks = states.get(REASONING)
    early = tuple(exit_ for exit_ in tool.content_exits if exit_.in_reasoning)
    if early and isinstance(thinks, TextState):
        states[REASONING] = replace(thinks, exits=_merged(thinks.exits, early))
    return ParserTable(
        states=states,
        content_exits=_merged(reasoning.content_exits, tool.content_exits),
        start=reasoning.start if tool.start == CONTENT else tool.start,
        new_id=tool.new_id or reasoning.new_id,
        call_syntax=tool.call_syntax,
    )


def _with_exits(state: State, exits: tuple[Exit, ...]) -> State:
    """A state of a tool parser whose text is content: thoughts begin there too, as behind a call."""
    if isinstance(state, TextState) and state.into == CONTENT:
        return replace(state, exits=_merged(state.exits, exits))
    return state


def _merged(first: tuple[Exit, ...], second: tuple[Exit, ...]) -> tuple[Exit, ...]:
    """Both; of two with the same marker, the first."""
    known = {exit_.parts for exit_ in first}
    return (*first, *(exit_ for exit_ in second if exit_.parts not in known))


@dataclass(frozen=True, slots=True)
class CompiledState:
    """A state and what its exits look like in the tokens of a model."""

    state: State
    patterns: Patterns


class CompiledTable:
    """A table for one vocabulary; shared by all texts of a request.

    Args:
        table: What to run.
        is_token: Whether a text is one token of the vocabulary.

    Raises:
        ValueError: A state is missing, or two markers cannot be told apart.
    """

    def __init__(self, table: ParserTable, is_token: Callable[[str], bool] = lambda _: False) -> None:
        check_table(table)
        self.table = table
        self._states = {CONTENT: TextState(exits=table.content_exits)} | dict(table.states)
        self._compiled = {
            name: CompiledState(state, Patterns(exits_of(state), is_token)) for name, state in self._states.items()
        }
        markers = {part for state in self._states.values() for exit_ in exits_of(state) for part in exit_.parts}
        self.tokens = frozenset(marker for marker in markers if is_token(marker))

    def scanner(self, name: str, draft: Draft, *, fresh: bool) -> Scanner:
        """What reads a stay in a state."""
        compiled = self._compiled[name]
        state, patterns = compiled.state, compiled.patterns
        match state:
            case TextState():
                return TextScanner(patterns, draft, state.into, state.skip, fresh=fresh)
            case NameState():
                return NameScanner(patterns, draft, state)
            case HeaderState():
                return HeaderScanner(patterns, draft, state)
            case ArgumentsState():
                rest = self._compiled[state.to].patterns
                return ArgumentsScanner(draft, state, ArgumentsTextScanner(rest, draft, fresh=False))
            case QuotedArgumentsState():
                return QuotedArgumentsScanner(draft, state)
            case JsonCallsState():
                return JsonCallsScanner(draft, state)
            case PythonCallsState():
                return PythonCallsScanner(draft, state)
            case ParameterNameState():
                return ParameterNameScanner(patterns, draft, state)
            case ParameterValueState():
                return ParameterValueScanner(patterns, draft, state)

    def exits(self, name: str) -> tuple[Exit, ...]:
        """What ends a state."""
        return exits_of(self._states[name])

    def writes(self, name: str) -> str:
        """What text of this state becomes: ``CONTENT``, ``REASONING``, or empty."""
        state = self._states[name]
        return state.into if isinstance(state, TextState) else ""
