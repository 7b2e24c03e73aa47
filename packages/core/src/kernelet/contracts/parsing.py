"""Parsers of a model's text: reasoning and tool calls as tables that one machine runs.

A vendor writes a table of states. The machine of ``kernelet.text.parsing`` takes text as it comes and fills a
``ParsedMessage``; it holds back what may still become a marker, so the result does not depend on how the text was cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kernelet.contracts.offer import Offer

CONTENT: Final = "content"
"""Name of the state that every table shares: plain text for the user."""

REASONING: Final = "reasoning"
"""Name of the state in which the model thinks."""

WHITESPACE: Final = " \t\r\n"


@dataclass(frozen=True)
class Exit:
    r"""A marker that ends a state.

    A marker that is one token of the model's vocabulary counts only as that token; any other is found in the text.

    Attributes:
        marker: Its text; several texts have any whitespace, or none, between them.
        to: State that follows.
        before: Characters that belong to the marker where they stand directly before it: ``"\n"``.
        after: Characters that are dropped where they follow directly.
        opens: A call is expected: what comes until its name is known is content, as generated, if no name comes.
        closes: The call that is open has ended.
        at_start: Counts only where nothing but whitespace stands before it in its state; that whitespace belongs to it.
        keeps: The (last) marker is the first text of the next state.
        in_reasoning: Of ``content_exits``: ends reasoning too.
    """

    marker: str | tuple[str, ...]
    to: str
    before: str = ""
    after: str = ""
    opens: bool = False
    closes: bool = False
    at_start: bool = False
    keeps: bool = False
    in_reasoning: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts of the marker."""
        return (self.marker,) if isinstance(self.marker, str) else self.marker


@dataclass(frozen=True, kw_only=True)
class TextState:
    """Text up to one of the exits.

    Attributes:
        into: ``CONTENT`` or ``REASONING``; empty: the text is dropped.
        skip: Characters that are dropped where the state begins.
    """

    exits: tuple[Exit, ...]
    into: str = CONTENT
    skip: str = ""


@dataclass(frozen=True)
class CallName:
    """What a header says.

    Attributes:
        name: Of the function; empty: there is no call, and what was read is content as generated.
        id: The model's own; empty: one is made.
    """

    name: str
    id: str = ""


def as_it_is(text: str) -> CallName:
    """The name without whitespace around it."""
    return CallName(text.strip())


@dataclass(frozen=True, kw_only=True)
class NameState:
    """The name of a function, up to one of the exits; the call begins there.

    Attributes:
        read: The name in the text.
        limit: Longest text in characters; a longer one is no name.
    """

    exits: tuple[Exit, ...]
    read: Callable[[str], CallName] = as_it_is
    limit: int = 256


@dataclass(frozen=True)
class Turn:
    """What follows a header.

    Attributes:
        to: State.
        call: A call begins.
    """

    to: str
    call: CallName | None = None


@dataclass(frozen=True, kw_only=True)
class HeaderState:
    """Text that says what comes, up to one of the exits, whose ``to`` is not used.

    Attributes:
        read: What it says.
        limit: Longest text in characters; a longer one is content.
    """

    exits: tuple[Exit, ...]
    read: Callable[[str], Turn]
    limit: int = 1024


@dataclass(frozen=True, kw_only=True)
class ArgumentsState:
    """The arguments of a call: one JSON value, taken as generated; markers inside its strings are text.

    What does not begin with ``{`` or ``[`` is taken as generated too, up to an exit of the state that follows.

    Attributes:
        to: State after the value.
    """

    to: str


@dataclass(frozen=True, kw_only=True)
class QuotedArgumentsState:
    """The arguments of a call as an object with bare keys: ``{a:"x",b:[1,true]}``; it becomes JSON.

    Attributes:
        to: State after the object.
        quote: The marker that stands before and behind a string, in which nothing is escaped.
    """

    to: str
    quote: str


@dataclass(frozen=True, kw_only=True)
class JsonCallsState:
    """Calls as JSON: ``{"name": ..., "arguments": ...}`` with the keys in any order.

    Attributes:
        to: State after them.
        many: A list of calls; also one call without the list.
        names: Keys of the name.
        arguments: Keys of the arguments, which are taken as generated.
        inside: Keys of an object that holds the call.
        others: Further keys a call may begin with; a first key that is in none of the four is no call.
        separators: Characters between calls that stand without a list.
        declared: Names of which one alone is a call; an object with another name is none until a key of arguments
            comes. None: any name is one.
    """

    to: str
    many: bool = False
    names: tuple[str, ...] = ("name",)
    arguments: tuple[str, ...] = ("arguments", "parameters")
    inside: tuple[str, ...] = ()
    others: tuple[str, ...] = ("id", "type")
    separators: str = ""
    declared: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class PythonCallsState:
    """Calls as Python: ``f(a=1, b="x")``, separated by commas or whitespace; the literals become JSON.

    Attributes:
        to: State after them.
        bracketed: They stand in ``[...]``.
        declared: Names of which a first ``f()`` without arguments is a call. None: any name is one.
    """

    to: str
    bracketed: bool = True
    declared: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class ParameterNameState:
    """The name of a parameter, up to one of the exits."""

    exits: tuple[Exit, ...]
    read: Callable[[str], str] = str.strip
    limit: int = 256


@dataclass(frozen=True, kw_only=True)
class ParameterValueState:
    """The value of a parameter, up to one of the exits: read by the types that its schema declares, in their order.

    Attributes:
        skip: Characters dropped where the value begins, at most one of each.
        trim: Characters dropped where the value ends, at most one of each. Other than those of an exit's ``before``, of
            which all are dropped.
    """

    exits: tuple[Exit, ...]
    skip: str = ""
    trim: str = ""


State = (
    TextState
    | NameState
    | HeaderState
    | ArgumentsState
    | QuotedArgumentsState
    | JsonCallsState
    | PythonCallsState
    | ParameterNameState
    | ParameterValueState
)


@dataclass(frozen=True, kw_only=True)
class CallSyntax:
    r"""How the family writes calls, exactly, where their arguments are JSON: what constrained calls look like.

    Texts are written as one: ``begin``, then for each call ``before``, its name, ``between``, its arguments, ``after``,
    with ``separator`` between two calls, and ``end``. What of them is one token of the vocabulary is that token.
    Since parsing 1.1.

    Attributes:
        begin: Before the first call.
        before: Before a name.
        between: Between name and arguments.
        after: Behind arguments.
        separator: Between two calls.
        end: Behind the last call.
        number: Not empty: stands behind a name, and behind it the call's number, counted from 0.
        one: The family writes one call an answer.
    """

    before: str
    between: str
    after: str = ""
    begin: str = ""
    separator: str = ""
    end: str = ""
    number: str = ""
    one: bool = False


@dataclass(frozen=True, kw_only=True)
class ParserTable:
    """A parser.

    Attributes:
        states: By name; not ``CONTENT``, which all tables share. A name of a tool parser and one of a reasoning
            parser that run together must differ, unless both have the same ``whole``.
        content_exits: What ends content.
        start: State at the begin of the answer.
        whole: Name of a format in which reasoning and calls cannot be told apart by two tables. Where tool and
            reasoning parser have the same, only the tool parser's table runs.
        new_id: Makes the id of a call; None: ``call_`` and 24 hexadecimal digits.
        call_syntax: Of a tool parser: how calls are written; None: they cannot be constrained. Since parsing 1.1.
    """

    states: Mapping[str, State] = field(default_factory=dict)
    content_exits: tuple[Exit, ...] = ()
    start: str = CONTENT
    whole: str = ""
    new_id: Callable[[], str] | None = None
    call_syntax: CallSyntax | None = None


_WithoutExits = ArgumentsState | QuotedArgumentsState | JsonCallsState | PythonCallsState


def exits_of(state: State) -> tuple[Exit, ...]:
    """The exits of a state that markers end; none of others."""
    return () if isinstance(state, _WithoutExits) else state.exits


def check_table(table: ParserTable) -> None:
    """What can be said of a table without a text.

    Raises:
        ValueError: A state is missing, or two markers cannot be told apart.
    """
    if CONTENT in table.states:
        raise ValueError(f"a table has the state {CONTENT!r}, which is shared: use content_exits")
    states = {CONTENT: TextState(exits=table.content_exits)} | dict(table.states)
    for name, state in states.items():
        check_markers(exits_of(state))
        for to in _targets(state):
            if to not in states:
                raise ValueError(f"state {name!r} goes to {to!r}, which the table does not have")
    if table.start not in states:
        raise ValueError(f"the table begins with {table.start!r}, which it does not have")


def check_markers(exits: Sequence[Exit]) -> None:
    """What can be said of the markers of one state.

    Raises:
        ValueError: One is empty, or begins another one.
    """
    for one in exits:
        if not one.parts or not all(one.parts):
            raise ValueError(f"an exit to {one.to!r} has an empty marker")
        for other in exits:
            head, last = one.parts[:-1], one.parts[-1]
            begins = len(head) < len(other.parts) and head == other.parts[: len(head)]
            if one is not other and begins and other.parts[len(head)].startswith(last):
                raise ValueError(f"the marker {one.parts} begins {other.parts}: it would always come first")


def _targets(state: State) -> list[str]:
    if isinstance(state, _WithoutExits):
        return [state.to]
    return [] if isinstance(state, HeaderState) else [exit_.to for exit_ in state.exits]


@dataclass(frozen=True, kw_only=True)
class ParserContext:
    """What a parser may know of its request.

    Attributes:
        tools: The functions that may be called: objects with ``name``, and ``parameters``, a JSON schema.
        prompt: The rendered prompt: whether reasoning was opened or closed at its end.
        template_kwargs: ``chat_template_kwargs`` of the request.
        parses_tools: A tool parser runs.
        parses_reasoning: A reasoning parser runs.
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    prompt: str = ""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    parses_tools: bool = False
    parses_reasoning: bool = False


MakeTable = Callable[[ParserContext], ParserTable]


@dataclass(frozen=True, kw_only=True)
class ParserOffer(Offer):
    """A parser; ``target`` is a function ``(ParserContext) -> ParserTable`` without side effects.

    Attributes:
        chat_template_hints: Texts that the chat template of its models contains, all of them. ``auto`` takes the
            parser with the most; none: ``auto`` never takes it.
    """

    chat_template_hints: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ToolParserOffer(ParserOffer):
    """Selected by ``--tool-call-parser``."""


@dataclass(frozen=True, kw_only=True)
class ReasoningParserOffer(ParserOffer):
    """Selected by ``--reasoning-parser``."""
