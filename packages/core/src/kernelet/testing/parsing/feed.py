"""Runs a table over texts that are cut in many ways."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterable, Sequence

from kernelet.contracts.parsing import ParserTable, exits_of
from kernelet.request.message import ParsedMessage
from kernelet.testing.parsing.sample import Parsed, parsed
from kernelet.testing.verdict import check
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable

NewParser = Callable[..., OutputParser]


def spans_of(text: str, tokens: Iterable[str] = (), places: Iterable[int] = ()) -> list[Span]:
    """A text as a detokenizer gives it.

    Args:
        text: All of it.
        tokens: Markers that are one token: a span of their own, never cut.
        places: Where else the text is cut.
    """
    marks = sorted(tokens, key=len, reverse=True)
    bounds = {0, len(text), *(place for place in places if 0 < place < len(text))}
    whole: dict[int, int] = {}
    if marks:
        for found in re.finditer("|".join(map(re.escape, marks)), text):
            whole[found.start()] = found.end()
            bounds -= set(range(found.start() + 1, found.end()))
            bounds |= {found.start(), found.end()}
    order = sorted(bounds)
    return [
        Span(text[start:end], (number,), special=whole.get(start) == end)
        for number, (start, end) in enumerate(itertools.pairwise(order))
    ]


def places_of(text: str, seed: int) -> list[int]:
    """Some places to cut a text at, often close to each other."""
    generator = random.Random(seed)
    count = generator.randint(1, 12)
    around = generator.randint(0, len(text))
    width = generator.choice([len(text), 12, 30])
    return [min(max(around + generator.randint(-width, width), 0), len(text)) for _ in range(count)]


def markers_of(table: ParserTable) -> tuple[str, ...]:
    """The texts of a table's markers."""
    compiled = [exit_ for state in table.states.values() for exit_ in exits_of(state)]
    return tuple(dict.fromkeys(part for exit_ in (*table.content_exits, *compiled) for part in exit_.parts))


class Feed:
    """One table for one vocabulary.

    Args:
        table: What runs.
        new_parser: Makes what runs it.
        tokens: Markers that are one token.
        tools: What may be called.
        drops_calls: ``tool_choice`` is none.
    """

    def __init__(
        self,
        table: ParserTable,
        new_parser: NewParser = OutputParser,
        *,
        tokens: Iterable[str] = (),
        tools: Sequence[object] = (),
        drops_calls: bool = False,
    ) -> None:
        self.table = table
        self.tokens = frozenset(tokens)
        self._compiled = CompiledTable(table, self.tokens.__contains__)
        self._new_parser = new_parser
        self._tools = tools
        self._drops = drops_calls

    def parser(self) -> OutputParser:
        """What runs the table over one choice."""
        return self._new_parser(self._compiled, self._tools, drops_calls=self._drops)

    def spans(self, text: str, places: Iterable[int] = ()) -> list[Span]:
        """A text, cut."""
        return spans_of(text, self.tokens, places)

    def message(self, text: str, places: Iterable[int] = (), *, cut: bool = False) -> ParsedMessage:
        """What a text means, fed in pieces."""
        parser = self.parser()
        for span in self.spans(text, places):
            parser.push([span])
        return parser.finish(cut=cut)

    def parse(self, text: str, places: Iterable[int] = (), *, cut: bool = False) -> Parsed:
        """The same, without ids."""
        return parsed(self.message(text, places, cut=cut))

    def slowly(self, text: str, *, cut: bool = False) -> Parsed:
        """The same, one character at a time; the message must only grow.

        Raises:
            ConformanceError: something that was said is taken back.
        """
        parser = self.parser()
        before = parser.message.snapshot()
        for span in self.spans(text, range(len(text))):
            parser.push([span])
            now = parser.message.snapshot()
            check_growth(before, now)
            before = now
        last = parser.finish(cut=cut)
        check_growth(before, last)
        return parsed(last)


def check_growth(before: ParsedMessage, after: ParsedMessage) -> None:
    """Holds a message against the one before: a client has seen that already.

    Raises:
        ConformanceError: something that was said is taken back.
    """
    check(
        after.content.startswith(before.content) and after.reasoning.startswith(before.reasoning),
        "content and reasoning must only grow: a client that reads the stream cannot take text back",
    )
    check(len(after.tool_calls) >= len(before.tool_calls), "a call that has begun must stay: clients saw it")
    for number, (old, new) in enumerate(zip(before.tool_calls, after.tool_calls, strict=False)):
        check(old.name == new.name and old.id == new.id, "the name and id of a call must not change once it has begun")
        check(new.arguments.startswith(old.arguments), "arguments must only grow, as the model generates them")
        ended = number < len(before.tool_calls) - 1
        check(not ended or new.arguments == old.arguments, "a call must be complete before the next one begins")
