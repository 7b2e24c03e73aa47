"""The suite of reasoning parsers: what the model thinks and what it says come out apart, whole, and without marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings

from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    Exit,
    JsonCallsState,
    ParserContext,
    ParserTable,
    ReasoningParserOffer,
    TextState,
    exits_of,
)
from kernelet.testing.offered import Offered
from kernelet.testing.parsing.draw import Case, Shape, cases, message_of
from kernelet.testing.parsing.feed import Feed, markers_of, places_of
from kernelet.testing.parsing.sample import Sample
from kernelet.testing.parsing.suite import ParserSuite, Render, Target
from kernelet.testing.search import SEARCH
from kernelet.testing.verdict import check
from kernelet.text.parsing.table import combine

CALLS = ParserTable(
    states={"calls of the suite": JsonCallsState(to=CONTENT)},
    content_exits=(Exit("¤call¤", "calls of the suite", opens=True),),
)
"""A tool parser that no model has."""


@dataclass(frozen=True, kw_only=True)
class ReasoningParserCapabilities:
    """What a family of models does.

    Attributes:
        tokens: Markers that are one token in the vocabulary of the models.
        opened: What ``render`` begins with where the prompt may have opened reasoning already: the prompt then ends
            with it, and the answer begins behind it; empty: prompts never do.
        closed: The end of a prompt that has closed reasoning, so that the answer is content; empty: prompts never do.
        stray: Marks of reasoning that are dropped where they stand in content; others are not looked for.
        prompt: The end of a prompt that neither opens nor closes reasoning.
        template_kwargs: Of the requests.
        samples: Answers and what they mean: of the models' documentation, of reports.
    """

    tokens: tuple[str, ...] = ()
    opened: str = ""
    closed: str = ""
    stray: tuple[str, ...] = ()
    prompt: str = ""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()


class ReasoningParserSuite(ParserSuite):
    """Fixtures ``offered``: ``find_offer("acme_kernelet.plugin", ReasoningParserOffer)``, and ``render``."""

    capabilities: ClassVar[ReasoningParserCapabilities] = ReasoningParserCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[ReasoningParserOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', ReasoningParserOffer)")

    @pytest.fixture
    def base(self) -> ParserContext:
        promised = self.capabilities
        return ParserContext(
            prompt=promised.prompt, template_kwargs=dict(promised.template_kwargs), parses_reasoning=True
        )

    @pytest.fixture
    def texts(self, samples: list[Sample], render: Render) -> list[Sample]:
        """What is cut: the vendor's samples, and answers that ``render`` writes."""
        written = [
            render(message_of((), content, reasoning), ())
            for reasoning, content in (("step one,\n\nstep two", "Answer: 1 < 2."), ("weighing it", ""), ("", "Hello."))
        ]
        found = [*samples, *(Sample(text=text) for text in written)]
        if self.capabilities.opened:
            found += [Sample(text=self.behind_prompt(text), prompt=self.capabilities.opened) for text in written[:2]]
        return found

    def behind_prompt(self, text: str) -> str:
        """The answer where the prompt has opened reasoning."""
        opened = self.capabilities.opened
        check(text.startswith(opened), f"capabilities.opened must be what render() begins with, not {text[:40]!r}")
        return text.removeprefix(opened)

    # --- reasoning and content -------------------------------------------------------------------

    def test_reasoning_comes_back(self, target: Target, base: ParserContext, render: Render) -> None:
        shape = Shape(content_markers=markers_of(self.feed(target, base).table), max_calls=1)
        prompts = dict.fromkeys(["", self.capabilities.opened])
        feeds = {prompt: self.feeds(target, base, Sample(text="", prompt=prompt)) for prompt in prompts}

        @settings(SEARCH, max_examples=2 * SEARCH.max_examples)
        @given(case=cases(shape))
        def come_back(case: Case) -> None:
            reasoning, content = case.texts
            whole = render(message_of((), content, reasoning), ())
            for prompt in prompts:
                text = self.behind_prompt(whole) if prompt else whole
                found = feeds[prompt][-(len(whole) % 2)].parse(text, places_of(text, len(text)))
                check(
                    found.reasoning.strip() == reasoning.strip(),
                    f"reasoning must come back whole, without its marks: {text!r} behind the prompt {prompt!r} came "
                    f"out as {found}",
                )
                check(
                    found.content.strip() == content.strip(),
                    f"content behind reasoning must come back whole: {text!r} came out as {found}",
                )

        come_back()

    def test_answers_without_reasoning(self, target: Target, base: ParserContext, render: Render) -> None:
        text = render(message_of((), "No need to think."), ())
        for feed in self.feeds(target, base, Sample(text=text)):
            found = feed.parse(text)
            check(
                found.content.strip() == "No need to think." and not found.reasoning.strip(),
                f"an answer without reasoning must come out as content: {text!r} came out as {found}",
            )

    def test_prompts_that_close_reasoning(self, target: Target, base: ParserContext) -> None:
        if not self.capabilities.closed:
            pytest.skip("no prompt does")
        for text in ("No need to think.", "a\n\nb", ""):
            feed = self.feed(target, context(base, self.capabilities.closed))
            found = feed.parse(text)
            check(
                (found.reasoning, found.content) == ("", text),
                f"behind a prompt that has closed reasoning an answer is content: it came out as {found}",
            )

    def test_only_the_end_of_the_prompt_counts(self, target: Target, base: ParserContext, render: Render) -> None:
        """Users write marks, too, and earlier answers have reasoning."""
        text = render(message_of((), "Hello.", "step one"), ())
        for mark in filter(str.strip, (self.capabilities.opened, self.capabilities.closed)):
            prompt = f"What does {mark} mean?\n{self.capabilities.prompt}"
            found = self.feed(target, context(base, prompt)).parse(text)
            expected = self.feed(target, base).parse(text)
            check(
                found == expected,
                f"only the end of a prompt says whether reasoning is open: {mark!r} in the middle of it changed the "
                f"meaning of {text!r} to {found}",
            )

    def test_stray_marks(self, target: Target, base: ParserContext, render: Render) -> None:
        """A second end of reasoning does not leak into content."""
        for mark in self.capabilities.stray:
            text = render(message_of((), "Hello.", "step one"), ()) + f" And{mark} so on."
            for feed in self.feeds(target, base, Sample(text=text)):
                found = feed.parse(text, range(len(text)))
                check(
                    mark not in found.content and "And" in found.content and "so on." in found.content,
                    f"a mark in content must be dropped, and nothing else: {text!r} came out as {found}",
                )

    def test_reasoning_that_never_ends(self, target: Target, base: ParserContext, render: Render) -> None:
        """All of a text that a limit cut while the model thinks is reasoning."""
        whole = render(message_of((), "", "step one, step two"), ())
        end = whole.index("two") + 3
        for feed in self.feeds(target, base, Sample(text=whole)):
            found = feed.parse(whole[:end], range(end), cut=True)
            check(
                found.reasoning.strip() == "step one, step two" and not found.content,
                f"reasoning that never ends is reasoning: {whole[:end]!r} came out as {found}",
            )

    def test_counts_reasoning_tokens(self, target: Target, base: ParserContext, render: Render) -> None:
        thought = "step one"
        text = render(message_of((), "Hello there, you.", thought), ())
        for feed in self.feeds(target, base, Sample(text=text)):
            places = range(len(text))
            found = feed.message(text, places).num_reasoning_tokens
            most = len(feed.spans(text, places)) - len("Hello there, you.")
            check(
                len(thought) <= found <= most,
                f"tokens of reasoning must be counted, and no others: of {text!r} {found} were",
            )

    # --- beside a tool parser --------------------------------------------------------------------

    def test_works_beside_a_tool_parser(self, target: Target, base: ParserContext, render: Render) -> None:
        """A call behind reasoning is one; what looks like one within reasoning is thought."""
        table = self.feed(target, base).table
        call = '¤call¤{"name": "now", "arguments": {}}'
        if table.whole:
            pytest.skip("its format has calls of its own")
        thinking = f"shall I {call} now?"
        text = render(message_of((), call, thinking), ())
        both = Feed(combine(CALLS, table), self.new_parser, tokens=self.tokens)
        for places in ((), range(len(text))):
            found = both.parse(text, places)
            check(
                found.reasoning.strip() == thinking and found.calls == (("now", "{}"),),
                f"a call behind reasoning must be found, and one within reasoning is thought: {text!r} came out as "
                f"{found}",
            )

    def test_has_a_state_that_thinks(self, target: Target, base: ParserContext) -> None:
        """Grammars and parsers of calls ask for it."""
        table = self.feed(target, base).table
        states = [state for state in table.states.values() if isinstance(state, TextState) and state.into == REASONING]
        check(states, "the table must have a TextState whose text goes into REASONING")
        check(any(exits_of(state) for state in states), "the state that thinks must have an exit: where reasoning ends")


def context(base: ParserContext, prompt: str) -> ParserContext:
    """The same request with another prompt."""
    return ParserContext(prompt=prompt, template_kwargs=base.template_kwargs, parses_reasoning=True)
