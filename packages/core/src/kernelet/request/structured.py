"""What the engine is told of a constraint: data that crosses processes. ``kernelet.structured`` runs it."""

from __future__ import annotations

import msgspec


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """What ends a stretch of text.

    Attributes:
        text: As it is written; empty: it is a token without text.
        token_id: It counts only as this one token; None: it is found in the text, and always ends with a token.
    """

    text: str = ""
    token_id: int | None = None


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """A marker, and where it leads.

    Attributes:
        marker: In a state's markers that are text, none begins another one.
        next: Index of the state that follows; None: the text is whole, and nothing may follow.
    """

    marker: Marker
    next: int | None = None


class FreeState(msgspec.Struct, frozen=True, kw_only=True, tag="free"):
    """Any text, up to the first of some markers.

    Attributes:
        exits: None: to the end.
        may_end: The text may end here.
        excludes: Texts and tokens that must not come.
    """

    exits: tuple[Exit, ...] = ()
    may_end: bool = True
    excludes: tuple[Marker, ...] = ()


class MarkerState(msgspec.Struct, frozen=True, kw_only=True, tag="marker"):
    """Exactly one of some markers.

    Attributes:
        exits: At least one.
        may_end: The text may end here, before any of them.
    """

    exits: tuple[Exit, ...]
    may_end: bool = False


class RulesState(msgspec.Struct, frozen=True, kw_only=True, tag="rules"):
    """A text that rules derive. It goes on as long as it can, but for a token that is the next state's marker.

    Attributes:
        rules: ``kernelet.structured.rules.encode``.
        digest: The same for the same rules only.
        next: Index of the state that follows; None: the text is whole, and nothing may follow.
        instead: Index of a state of markers, each one token, that may come in place of this text; None: none.
    """

    rules: bytes
    digest: str
    next: int | None = None
    instead: int | None = None


def is_one_text(states: tuple[State, ...]) -> bool:
    """Whether an answer is the text of one grammar."""
    first = states[0]
    return isinstance(first, RulesState) and first.next is None and first.instead is None


State = FreeState | MarkerState | RulesState


class ReasoningGate(msgspec.Struct, frozen=True, kw_only=True):
    """How the engine knows when the model has thought: it runs the reasoning parser's own table.

    Attributes:
        parser: Name of the reasoning parser.
        prompt: As much of the rendered prompt's end as parsers look at.
        template_kwargs: ``chat_template_kwargs`` of the request, as JSON.
        parses_tools: A tool parser runs too.
        tokens: Markers of the table that are one token of the vocabulary.
        max_whitespace: Characters of whitespace, of those that the parser drops, between reasoning and text.
        excludes: What must not come in reasoning: markers that would end it and begin a call.
    """

    parser: str
    prompt: str = ""
    template_kwargs: bytes = b"{}"
    parses_tools: bool = False
    tokens: dict[str, int] = {}
    max_whitespace: int = 8
    excludes: tuple[Marker, ...] = ()


class StructuredRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How the tokens of a request are held to its constraint.

    Attributes:
        engine: Name of the grammar engine.
        others: Engines that are tried, in their order, where that one cannot compile; empty where it was named.
        states: What is enforced; the text begins in the first one.
        reasoning: The text is free until the model has thought; None: it is held from its first token on.
    """

    engine: str
    states: tuple[State, ...]
    reasoning: ReasoningGate | None = None
    others: tuple[str, ...] = ()


ENFORCED = "enforced"
"""``CompletionOutput.structured``: every token was held to the constraint, and the text is whole."""

VALIDATED = "validated"
"""Nothing was enforced; the text was checked, and is as asked for."""

VIOLATED = "violated"
"""Nothing was enforced; the text was checked, and is not as asked for."""

UNFINISHED = "unfinished"
"""It ended before the constraint was met: at its length, by an abort or a stop string, while it reasoned."""
