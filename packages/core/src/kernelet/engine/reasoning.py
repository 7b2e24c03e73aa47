"""Reasoning before answers that are held to a form: how they are parsed, and what the engine is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from kernelet.contracts.parsing import REASONING, ParserContext, ParserTable, exits_of
from kernelet.errors import RequestFailedError
from kernelet.request.structured import FreeState, Marker, ReasoningGate, State
from kernelet.text.parsing.table import CompiledTable
from kernelet.text.parsing.thought import Thought, held_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelet.engine.parsing import NamedParser

PROMPT_END: Final = 2048
"""Characters of a prompt that nearly all parsers tell by whether reasoning is open."""


@dataclass(frozen=True, kw_only=True)
class Reasoner:
    """The reasoning parser of one request.

    Attributes:
        parser: Makes tables.
        table: Its table for the request.
        calls: Table of the tool parser that runs too.
        context: What both were made from.
        token_of: The token that a text is, if it is one.
    """

    parser: NamedParser
    table: ParserTable
    calls: ParserTable | None
    context: ParserContext
    token_of: Callable[[str], int | None]

    def gate(self) -> ReasoningGate:
        """What the engine is told.

        Raises:
            RequestFailedError: the plugin failed.
        """
        end = self.context.prompt[-PROMPT_END:]
        if len(end) < len(self.context.prompt):
            short = self.parser.table(replace(self.context, prompt=end, tools=()))
            end = end if short.start == self.table.start else self.context.prompt
        states = (*(exits_of(state) for state in self.table.states.values()), self.table.content_exits)
        texts = {part for exits in states for exit_ in exits for part in exit_.parts}
        early = () if self.calls is None else self.calls.content_exits
        markers = [exit_.parts[0] for exit_ in early if exit_.in_reasoning]
        return ReasoningGate(
            parser=self.parser.name,
            prompt=end,
            template_kwargs=msgspec.json.encode(dict(self.context.template_kwargs)),
            parses_tools=self.context.parses_tools,
            tokens={text: index for text in sorted(texts) if (index := self.token_of(text)) is not None},
            excludes=tuple(Marker(text=text, token_id=self.token_of(text)) for text in markers),
        )

    def openings(self) -> tuple[Marker, ...]:
        """Markers that open reasoning in text."""
        texts = dict.fromkeys(exit_.parts[0] for exit_ in self.table.content_exits if exit_.to == REASONING)
        return tuple(Marker(text=text, token_id=self.token_of(text)) for text in texts)

    def held(self) -> CompiledTable:
        """The table of answers whose content is held to a form.

        Raises:
            RequestFailedError: the parser's table cannot be used so.
        """
        prompt = self.context.prompt
        return compiled(self.parser.label, self.table, prompt, lambda text: self.token_of(text) is not None)


def without_thoughts(states: Sequence[State], openings: Sequence[Marker]) -> tuple[State, ...]:
    """States in whose free text no thought is opened, where they do not ask for its marker themselves."""
    found: list[State] = []
    for state in states:
        if isinstance(state, FreeState):
            known = [*(exit_.marker for exit_ in state.exits), *state.excludes]
            more = tuple(one for one in openings if not any(map(partial(_overlap, one), known)))
            found.append(msgspec.structs.replace(state, excludes=(*state.excludes, *more)))
        else:
            found.append(state)
    return tuple(found)


def _overlap(one: Marker, other: Marker) -> bool:
    """Whether two markers cannot be looked for at once."""
    if one.token_id is not None or other.token_id is not None:
        return one.token_id == other.token_id
    return one.text.startswith(other.text) or other.text.startswith(one.text)


def start_thought(parser: NamedParser, gate: ReasoningGate, token_bytes: Sequence[bytes]) -> Thought:
    """An answer's reasoning, where tokens are chosen.

    Raises:
        RequestFailedError: the plugin failed, or its table cannot be used so.
    """
    kwargs: Mapping[str, object] = msgspec.json.decode(gate.template_kwargs)
    context = ParserContext(
        prompt=gate.prompt, template_kwargs=kwargs, parses_tools=gate.parses_tools, parses_reasoning=True
    )
    table = compiled(parser.label, parser.table(context), gate.prompt, gate.tokens.__contains__)
    return Thought(table, gate.tokens, token_bytes)


def compiled(label: str, table: ParserTable, prompt: str, is_token: Callable[[str], bool]) -> CompiledTable:
    """A reasoning parser's table for content that is held to a form.

    Raises:
        RequestFailedError: it cannot be used so.
    """
    try:
        return CompiledTable(held_content(table, prompt), is_token)
    except ValueError as error:
        raise RequestFailedError(f"{label}: {error}") from error
