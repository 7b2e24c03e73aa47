"""Answers that go on with a message: whether the model thinks where the message stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernelet.text.detokenizer import Span

if TYPE_CHECKING:
    from kernelet.engine.output_parsing import OutputParsing

Parse = Callable[[str], "OutputParsing | None"]
"""How the answers to a prompt are parsed."""


def parse_continued(prompt: str, messages: Sequence[Mapping[str, Any]], parse: Parse) -> OutputParsing | None:
    """How the answers to a prompt are parsed that ends with the beginning of an answer.

    Parsers tell by a prompt's end whether reasoning is open. Where the message stands in the middle of a thought, they
    are shown the prompt up to where the thought began.

    Args:
        prompt: As it was rendered.
        messages: The last one is gone on with.
        parse: Asks the parsers.

    Raises:
        RequestFailedError: a plugin failed.
    """
    said = messages[-1].get("content") if messages else None
    place = prompt.rfind(said.rstrip()) if isinstance(said, str) and said.strip() else -1
    found = parse(prompt[:place]) if place >= 0 else None
    if found is None:
        return parse(prompt)
    begun = thought_begins(found, prompt[place:])
    return parse(prompt if begun is None else prompt[: place + begun])


def thought_begins(parsing: OutputParsing, said: str) -> int | None:
    """The characters of a text after which the model thinks to its end; None: it does not think at its end."""
    parser = parsing.new_parser()
    begun = 0 if parser.in_reasoning else None
    for number, character in enumerate(said, 1):
        parser.push([Span(character, ())])
        if not parser.in_reasoning:
            begun = None
        elif begun is None:
            begun = number
    return begun
