"""Wrong reasoning parsers: tables, and machines that run a right one wrongly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    Exit,
    ParserContext,
    ParserTable,
    ReasoningParserOffer,
    TextState,
)
from kernelet.request.message import ParsedMessage
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.parsing.machines import HoldsNothingBack
from kernelet.testing.parsing.suite import Render, Target
from kernelet.testing.reasoning_parser.reference import table, write
from kernelet.testing.reasoning_parser.suite import ReasoningParserCapabilities, ReasoningParserSuite
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.scanner import Step

PROMISES = ReasoningParserCapabilities(
    tokens=("<thought>", "</thought>"),
    opened="<thought>\n",
    closed="<thought>\n</thought>\n",
    stray=("</thought>",),
)


def suite_of(target: Target, machine: type[OutputParser] = OutputParser) -> type[ReasoningParserSuite]:
    """The suite as the author of that table writes it."""

    class Faulty(ReasoningParserSuite):
        capabilities = PROMISES
        new_parser = machine

        @pytest.fixture
        def offered(self) -> Offered[ReasoningParserOffer]:
            offer = ReasoningParserOffer(name="faulty", target=f"{target.__module__}:{target.__qualname__}")
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=target)

        @pytest.fixture
        def render(self) -> Render:
            return write

    return Faulty


# --- tables ----------------------------------------------------------------------------------------


def no_table(_: ParserContext) -> list[str]:
    return ["<thought>", "</thought>"]


def leaks_marks(context: ParserContext) -> ParserTable:
    right = table(context)
    return replace(right, content_exits=right.content_exits[:1])


def searches_the_prompt(context: ParserContext) -> ParserTable:
    opened = "<thought>" in context.prompt and not context.prompt.rstrip().endswith("</thought>")
    return replace(table(context), start=REASONING if opened else CONTENT)


def does_not_see_the_prompt(context: ParserContext) -> ParserTable:
    return table(replace(context, prompt=""))


def thinks_after_a_closed_prompt(context: ParserContext) -> ParserTable:
    return replace(table(context), start=REASONING if "<thought>" in context.prompt[-30:] else CONTENT)


def thinks_always(context: ParserContext) -> ParserTable:
    return replace(table(context), start=REASONING)


def loses_the_answer(context: ParserContext) -> ParserTable:
    return with_end(context, Exit("</thought>", "line"), {"line": TextState(into="", exits=(Exit(" ", CONTENT),))})


def keeps_content_to_itself(context: ParserContext) -> ParserTable:
    return with_end(context, Exit("</thought>", "answer", after="\n"), {"answer": TextState(exits=())})


def thinks_of_nothing(context: ParserContext) -> ParserTable:
    return replace(table(context), states={REASONING: TextState(into="", exits=(Exit("</thought>", CONTENT),))})


def with_end(context: ParserContext, end: Exit, states: dict[str, TextState]) -> ParserTable:
    return replace(table(context), states={REASONING: TextState(into=REASONING, skip="\n", exits=(end,)), **states})


# --- machines --------------------------------------------------------------------------------------


class LeavesWithOthers(OutputParser):
    """One choice that has thought ends it for all of its request."""

    left: ClassVar[set[int]] = set()

    def push(self, spans: Iterable[Span]) -> None:
        if self.in_reasoning and id(self._table) in self.left:
            self._follow(Step(0, CONTENT))
        thought = self.in_reasoning
        super().push(spans)
        if thought and not self.in_reasoning:
            self.left.add(id(self._table))


class CountsNothing(OutputParser):
    def finish(self, *, cut: bool = False) -> ParsedMessage:
        return replace(super().finish(cut=cut), num_reasoning_tokens=0)


class TellsItsThoughts(OutputParser):
    """Reasoning that did not end is what the model meant to say."""

    def finish(self, *, cut: bool = False) -> ParsedMessage:
        message = super().finish(cut=cut)
        return replace(message, content=message.reasoning, reasoning="") if self.in_reasoning else message


_TABLES: tuple[tuple[str, Target, str], ...] = (
    ("is-no-table", no_table, "the target must return a ParserTable"),
    ("leaks-a-second-end", leaks_marks, "a mark in content must be dropped"),
    ("searches-the-prompt", searches_the_prompt, "only the end of a prompt says"),
    ("does-not-see-that-the-prompt-opened-it", does_not_see_the_prompt, "reasoning must come back whole"),
    ("thinks-after-a-prompt-that-closed-it", thinks_after_a_closed_prompt, "behind a prompt that has closed reasoning"),
    ("thinks-always", thinks_always, "an answer without reasoning must come out as content"),
    ("loses-text-behind-the-end", loses_the_answer, "content behind reasoning must come back whole"),
    ("hides-calls-behind-reasoning", keeps_content_to_itself, "a call behind reasoning must be found"),
    ("has-no-state-that-thinks", thinks_of_nothing, "the table must have a TextState whose text goes into REASONING"),
)

_MACHINES: tuple[tuple[str, type[OutputParser], str], ...] = (
    ("leaks-a-tag-that-was-cut", HoldsNothingBack, "the message must not depend on where the text is cut"),
    ("leaves-reasoning-for-other-choices", LeavesWithOthers, "choices must share no state"),
    ("counts-no-tokens", CountsNothing, "tokens of reasoning must be counted"),
    ("tells-its-thoughts", TellsItsThoughts, "reasoning that never ends is reasoning"),
)

FAULTS = (
    *(Fault(name=name, suite=suite_of(target), says=says) for name, target, says in _TABLES),
    *(Fault(name=name, suite=suite_of(table, machine), says=says) for name, machine, says in _MACHINES),
)
