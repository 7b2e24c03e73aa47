"""What the suites of both kinds of parsers test: the message does not depend on how the text was cut."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import pytest

from kernelet.contracts.parsing import ParserContext, ParserOffer, ParserTable
from kernelet.request.message import ParsedMessage
from kernelet.testing.offered import Offered
from kernelet.testing.parsing.feed import Feed, markers_of, places_of
from kernelet.testing.parsing.sample import Sample, parsed, same_calls
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import ConformanceError, check
from kernelet.text.parsing.machine import OutputParser

Render = Callable[[ParsedMessage, Sequence[Mapping[str, Any]]], str]
"""Writes an answer as the chat template of the models does: from the first token that is generated on, up to the one
that ends it."""

Target = Callable[[ParserContext], Any]


class Promises(Protocol):
    """What both kinds of capabilities have."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Markers that are one token."""

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Answers and what they mean."""


RANDOM_CUTS = (200, 40)
"""Of each text, and of each text with tokens."""


class ParserSuite(Suite):
    """Tests of both kinds. The subclass says what is promised, what is cut, and in which context."""

    capabilities: ClassVar[Promises]
    new_parser = OutputParser
    """The machine; another one is for the proof that the suites find a wrong one."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Markers that are tokens."""
        return self.capabilities.tokens

    @pytest.fixture
    def render(self) -> Render:
        """Writes an answer as the chat template does, without the token that ends it."""
        raise NotImplementedError("give the fixture `render`: (message, tools) -> the answer as the template writes it")

    @pytest.fixture
    def target(self, offered: Offered[ParserOffer]) -> Target:
        target: Target = offered.target
        return target

    @pytest.fixture
    def samples(self) -> list[Sample]:
        return list(self.capabilities.samples)

    @pytest.fixture
    def base(self) -> ParserContext:
        raise NotImplementedError

    def feed(self, target: Target, context: ParserContext, **options: Any) -> Feed:
        """What runs the table of a request.

        Raises:
            ConformanceError: there is none that can run.
        """
        table = target(context)
        check(isinstance(table, ParserTable), "the target must return a ParserTable")
        try:
            return Feed(table, self.new_parser, tools=context.tools, **options)
        except ValueError as error:
            raise ConformanceError(f"the table must be one that can run: {error}") from error

    def feeds(self, target: Target, base: ParserContext, sample: Sample) -> list[Feed]:
        """Without a vocabulary, and with one in which the parser's tokens are tokens."""
        context = context_of(base, sample)
        return [self.feed(target, context, tokens=tokens) for tokens in dict.fromkeys([(), self.tokens])]

    def test_tokens_are_markers(self, target: Target, base: ParserContext) -> None:
        known = markers_of(self.feed(target, base).table)
        for token in self.tokens:
            check(token in known, f"capabilities.tokens has {token!r}, which is no marker of the table")

    def test_samples_mean_what_they_say(self, target: Target, base: ParserContext, samples: list[Sample]) -> None:
        for sample in samples:
            for feed in self.feeds(target, base, sample):
                found = feed.parse(sample.text, cut=sample.cut)
                right = found.content == sample.content and found.reasoning == sample.reasoning
                check(
                    right and same_calls(found.calls, sample.calls),
                    f"a sample must mean what it says: {sample.text!r} came out as {found}",
                )

    def test_every_cut_at_one_place(self, target: Target, base: ParserContext, texts: list[Sample]) -> None:
        for sample in texts:
            for feed in self.feeds(target, base, sample):
                whole = feed.parse(sample.text)
                for place in range(1, len(sample.text)):
                    found = feed.parse(sample.text, [place])
                    check(
                        found == whole,
                        f"the message must not depend on where the text is cut: {sample.text[:place]!r} and "
                        f"{sample.text[place:]!r} came out as {found}, together as {whole}",
                    )

    def test_cuts_at_several_places(self, target: Target, base: ParserContext, texts: list[Sample]) -> None:
        for sample in texts:
            for count, feed in zip(RANDOM_CUTS, self.feeds(target, base, sample), strict=False):
                whole = feed.parse(sample.text)
                for seed in range(count):
                    found = feed.parse(sample.text, places_of(sample.text, seed))
                    check(found == whole, f"however a text is cut, the message is one: {sample.text!r}")

    def test_every_end(self, target: Target, base: ParserContext, texts: list[Sample]) -> None:
        """The text may end in every state, at its own end or by a limit."""
        for sample in texts:
            feeds = self.feeds(target, base, sample)
            for feed, cut in ((feeds[0], False), (feeds[-1], True)):
                check(
                    feed.slowly(sample.text, cut=cut) == feed.parse(sample.text, cut=cut),
                    f"one character at a time must mean the same: {sample.text!r}",
                )
                for end in range(len(sample.text)):
                    text = sample.text[:end]
                    found, whole = feed.parse(text, [end // 2, end - 1], cut=cut), feed.parse(text, cut=cut)
                    check(
                        found == whole,
                        f"a text that ends early means the same however it was cut: {text!r} came out as {found} and "
                        f"as {whole}",
                    )

    def test_choices_share_nothing(self, target: Target, base: ParserContext, texts: list[Sample]) -> None:
        """Three choices of one request whose pieces come in turns."""
        contexts = [context_of(base, sample) for sample in texts]
        for sample, context in zip(texts, contexts, strict=True):
            mates = [other for other, same in zip(texts, contexts, strict=True) if same == context]
            chosen = [sample, mates[(mates.index(sample) + 1) % len(mates)], sample]
            feed = self.feed(target, context)
            expected = [feed.parse(one.text) for one in chosen]
            parsers = [feed.parser() for _ in chosen]
            pieces = [feed.spans(one.text, places_of(one.text, seed)) for seed, one in enumerate(chosen)]
            for spans in itertools.zip_longest(*pieces):
                for parser, span in zip(parsers, spans, strict=True):
                    parser.push([span] if span is not None else [])
            found = [parsed(parser.finish()) for parser in parsers]
            check(found == expected, "choices must share no state: three that come in turns were mixed up")

    def test_table_has_no_side_effects(self, target: Target, base: ParserContext, texts: list[Sample]) -> None:
        """Of two requests the second one's table is made while the first one runs."""
        for sample in texts:
            context = context_of(base, sample)
            before = copy.deepcopy(context)
            feed = self.feed(target, context)
            expected = feed.parse(sample.text)
            parser, half = feed.parser(), feed.spans(sample.text, [len(sample.text) // 2])
            parser.push(half[:1])
            self.feed(target, ParserContext()).parse(sample.text)
            parser.push(half[1:])
            check(context == before, "the target must not change the context that it is given")
            check(
                expected == parsed(parser.finish()) == self.feed(target, context).parse(sample.text),
                "the target must keep nothing between requests: the same request twice must mean the same",
            )

    def test_looks_at_text_once(self, target: Target, base: ParserContext, texts: list[Sample]) -> None:
        generator = random.Random(5)
        for sample in texts:
            feed = self.feed(target, context_of(base, sample))
            markers = markers_of(feed.table)
            mixed = [generator.choice([*markers, "a", " ", "\n", sample.text]) for _ in range(60)]
            for text in (sample.text, sample.text * 3, "".join(mixed), *(marker * 50 for marker in markers)):
                parser = feed.parser()
                for span in feed.spans(text, places_of(text, len(text))):
                    parser.push([span])
                parser.finish()
                longest = max(map(len, markers), default=0)
                check(
                    parser.looked <= 2 * len(text) + longest,
                    f"a text must be looked at once: {parser.looked} characters were looked at of {len(text)} "
                    f"(exits that keep their marker send it from state to state)",
                )


def context_of(base: ParserContext, sample: Sample) -> ParserContext:
    """The context of a sample's request."""
    return ParserContext(
        tools=sample.tools or base.tools,
        prompt=sample.prompt or base.prompt,
        template_kwargs={**base.template_kwargs, **sample.template_kwargs},
        parses_tools=base.parses_tools,
        parses_reasoning=base.parses_reasoning,
    )
