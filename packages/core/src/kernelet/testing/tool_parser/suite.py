"""The suite of tool parsers: calls come back as they were meant, and every other character is content."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest
from hypothesis import given, settings

from kernelet.contracts.parsing import CONTENT, REASONING, Exit, ParserContext, ParserTable, TextState, ToolParserOffer
from kernelet.testing.offered import Offered
from kernelet.testing.parsing.draw import Case, Shape, anything, cases, message_of, squeezed
from kernelet.testing.parsing.feed import Feed, markers_of, places_of
from kernelet.testing.parsing.sample import Calls, Sample, same_calls
from kernelet.testing.parsing.suite import ParserSuite, Render, Target, context_of
from kernelet.testing.search import SEARCH
from kernelet.testing.tool_parser.samples import TOOLS, answer, calls_text, messages
from kernelet.testing.verdict import check
from kernelet.text.parsing.table import combine

THINKS = ParserTable(
    states={REASONING: TextState(into=REASONING, exits=(Exit("¤/thinks¤", CONTENT),))},
    content_exits=(Exit("¤thinks¤", REASONING),),
)
"""A reasoning parser that no model has."""


@dataclass(frozen=True, kw_only=True)
class ToolParserCapabilities:
    """What the format of a family of models can say.

    Attributes:
        types: How arguments are written: ``json``, passed on as generated; ``xml``, each value as text that is read
            by its schema; ``python``, as literals.
        tokens: Markers that are one token in the vocabulary of the models.
        many_calls: An answer may have several calls.
        content_before: Text may stand before the calls.
        content_between: Text may stand between calls, each of which is written as an answer of one call.
        content_after: Text may stand behind the calls.
        parses_reasoning: The table reads reasoning, too (``ParserTable.whole``).
        carries: Whether a string can stand in the arguments; most formats carry all.
        samples: Answers and what they mean: of the models' documentation, of reports.
        prompt: The end of a prompt.
    """

    types: Literal["json", "xml", "python"] = "json"
    tokens: tuple[str, ...] = ()
    many_calls: bool = True
    content_before: bool = True
    content_between: bool = True
    content_after: bool = True
    parses_reasoning: bool = False
    carries: Callable[[str], bool] = anything
    samples: tuple[Sample, ...] = ()
    prompt: str = ""


class ToolParserSuite(ParserSuite):
    """Fixtures ``offered``: ``find_offer("acme_kernelet.plugin", ToolParserOffer)``, and ``render``."""

    capabilities: ClassVar[ToolParserCapabilities] = ToolParserCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[ToolParserOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', ToolParserOffer)")

    @pytest.fixture
    def base(self) -> ParserContext:
        promised = self.capabilities
        return ParserContext(
            tools=TOOLS, prompt=promised.prompt, parses_tools=True, parses_reasoning=promised.parses_reasoning
        )

    @pytest.fixture
    def texts(self, samples: list[Sample], render: Render, target: Target, base: ParserContext) -> list[Sample]:
        """What is cut: the vendor's samples, and answers that ``render`` writes."""
        table = self.feed(target, base).table
        written = [render(message, TOOLS) for message in messages(self.capabilities)]
        opening = ["".join(exit_.parts) for exit_ in table.content_exits if exit_.opens]
        broken = [f"So{marker} was all" for marker in opening]
        return [*samples, *(Sample(text=text) for text in (*written, *broken))]

    # --- calls -----------------------------------------------------------------------------------

    def shape(self, table: ParserTable) -> Shape:
        """Of random calls: what may trouble this table."""
        return Shape(
            markers=markers_of(table),
            content_markers=tuple(exit_.parts[0] for exit_ in table.content_exits),
            carries=self.capabilities.carries,
            typed=self.capabilities.types == "xml",
            max_calls=3 if self.capabilities.many_calls else 1,
        )

    def test_calls_come_back(self, target: Target, base: ParserContext, render: Render) -> None:
        table = self.feed(target, base).table

        @settings(SEARCH, max_examples=2 * SEARCH.max_examples)
        @given(case=cases(self.shape(table)))
        def come_back(case: Case) -> None:
            made = answer(case, self.capabilities, render)
            sample = Sample(text=made.text, tools=case.tools)
            feed = self.feed(target, context_of(base, sample), tokens=self.tokens if len(made.text) % 2 else ())
            found = feed.parse(made.text, places_of(made.text, len(made.text)))
            check(
                same_calls(found.calls, made.calls),
                f"calls must come back as they were rendered, in order, whatever their arguments hold: "
                f"{made.text!r} came out as {found.calls}",
            )
            check(
                squeezed([found.content]) == squeezed([made.content]),
                f"text before, between and behind calls must come back as content: {made.text!r} came out as "
                f"{found.content!r}",
            )
            check(
                squeezed([found.reasoning]) == squeezed([made.reasoning]),
                f"reasoning must come back: {made.text!r} came out as {found.reasoning!r}",
            )

        come_back()

    def test_marker_text_in_strings(self, target: Target, base: ParserContext, render: Render) -> None:
        for marker in markers_of(self.feed(target, base).table):
            city = f"a {marker} b"
            if self.capabilities.carries(city):
                text = calls_text(render, ("get_weather", {"city": city}))
                for feed in self.feeds(target, base, Sample(text=text)):
                    found = feed.parse(text, range(len(text))).calls
                    check(
                        same_calls(found, (("get_weather", {"city": city}),)),
                        f"the text of a marker is no marker inside a string: {text!r} came out as {found}",
                    )

    def test_two_calls(self, target: Target, base: ParserContext, render: Render) -> None:
        """Whatever stands between the end of one and the begin of the next, in one piece or in many."""
        if not (self.capabilities.many_calls and self.capabilities.content_between):
            pytest.skip("one answer has one place for calls")
        calls: Calls = ("get_weather", {"city": "a"}), ("now", {}), ("get_weather", {"city": "b"})
        for between in ("", "y", "\n", " \n\n", "\n- y\n"):
            text = between.join(calls_text(render, call) for call in calls)
            for feed, places in itertools.product(self.feeds(target, base, Sample(text=text)), ((), range(len(text)))):
                found = feed.parse(text, places)
                check(
                    same_calls(found.calls, calls) and squeezed([found.content]) == squeezed([between, between]),
                    f"calls must come out one by one, whatever stands between them: {text!r} came out as {found}",
                )

    def test_calls_end(self, target: Target, base: ParserContext, render: Render) -> None:
        """A limit cuts the text behind the calls."""
        text = calls_text(render, ("get_weather", {"city": "a", "day": 3}))
        text += " So then" if self.capabilities.content_after else ""
        found = self.feed(target, base).parse(text, cut=True).calls
        check(
            same_calls(found, (("get_weather", {"city": "a", "day": 3}),)),
            f"a call whose end was written is complete, wherever the text is cut behind it: {text!r} came out as "
            f"{found}",
        )

    def test_arguments_are_passed_on_as_generated(self, target: Target, base: ParserContext, render: Render) -> None:
        if self.capabilities.types != "json":
            pytest.skip("the arguments are not written as JSON")
        text = calls_text(render, ("get_weather", {"city": "a", "numbers": [{"v": 1}]}))
        feed = self.feed(target, base)
        [(_, arguments)] = feed.parse(text).calls or (("", ""),)
        check(arguments and arguments in text, "arguments must be passed on as generated, not written anew")
        spelled = '{"numbers":[{"v":1}] , "city" :"\\u0061","day":1.50e0,"city":  "b"}'
        other = text.replace(arguments, spelled)
        found = feed.parse(other, range(len(other)))
        check(
            found.calls == (("get_weather", spelled),),
            f"arguments must be passed on as generated, not written anew: {other!r} came out as {found.calls}",
        )

    def test_values_by_their_types(self, target: Target, base: ParserContext, render: Render) -> None:
        """A value that is none of its declared types is a string, and its call is not dropped."""
        if self.capabilities.types != "xml":
            pytest.skip("the arguments say their types")
        typed = {"city": "12", "day": 5, "hours": None, "numbers": [{"v": 1}]}
        for arguments in (typed, {"day": "2026-01-15"}, {"hours": "none of them"}, {"not_declared": "x"}):
            text = calls_text(render, ("get_weather", arguments))
            found = self.feed(target, base).parse(text).calls
            check(
                same_calls(found, (("get_weather", arguments),)),
                f"a value must be read by the types that its schema declares, and be a string if it is none of them: "
                f"{text!r} came out as {found}",
            )

    def test_unknown_functions(self, target: Target, base: ParserContext, render: Render) -> None:
        text = calls_text(render, ("no_such_function", {"a": "b"}))
        found = self.feed(target, base).parse(text).calls
        check(
            same_calls(found, (("no_such_function", {"a": "b"}),)),
            "a call of a function that nobody declared must come out as well: whoever runs it answers the model",
        )

    def test_calls_without_arguments(self, target: Target, base: ParserContext, render: Render) -> None:
        found = self.feed(target, base).parse(calls_text(render, ("now", {}))).calls
        check(found == (("now", "{}"),), f"a call without arguments must have an empty object: it came out as {found}")

    def test_ids(self, target: Target, base: ParserContext, render: Render) -> None:
        call = ("get_weather", {"city": "a"})
        text = calls_text(render, *([call, call] if self.capabilities.many_calls else [call]))
        feed = self.feed(target, base)
        ids = [call.id for _ in range(3) for call in feed.message(text).tool_calls if call.id not in text]
        check(all(ids), "every call must have an id")
        check(len(set(ids)) == len(ids), "ids of calls must be unique, in an answer and between answers")

    # --- content ---------------------------------------------------------------------------------

    def test_text_is_content(self, target: Target, base: ParserContext, render: Render) -> None:
        """Text without calls comes out as it is, whatever it looks like."""
        table = self.feed(target, base).table
        markers = [exit_.parts[0] for exit_ in table.content_exits]
        endings = [f"{text}{marker[:end]}" for marker in markers for end in range(len(marker)) for text in ("So ", "")]
        for text in ("So it is.", "1 < 2 \n\n ", 'say {"name": "now"} [x] ', "", *endings):
            shown = render(message_of((), content=text), TOOLS) if text == "So it is." else text
            if table.start == CONTENT or text == "So it is.":
                found = self.feed(target, base).parse(shown, range(len(shown)))
                check(
                    found.content.strip() == text.strip() and not found.calls,
                    f"text that is no call is content, all of it: {shown!r} came out as {found}",
                )

    def test_what_is_no_call_is_content(self, target: Target, base: ParserContext) -> None:
        table = self.feed(target, base).table
        for exit_ in table.content_exits:
            state = table.states.get(exit_.to)
            drops = isinstance(state, TextState) and not state.into
            if (exit_.opens or drops) and not exit_.at_start:
                text = f"It opens with {''.join(exit_.parts)}, said the model."
                for feed in self.feeds(target, base, Sample(text=text)):
                    found = feed.parse(text, range(len(text)))
                    check(
                        found.content == text and not found.calls,
                        f"what never became a call is content, its markers too: {text!r} came out as {found}",
                    )

    def test_calls_can_be_dropped(self, target: Target, base: ParserContext, texts: list[Sample]) -> None:
        """With ``tool_choice: none``, neither calls nor their markup."""
        for sample in texts:
            kept = self.feeds(target, base, sample)[0].parse(sample.text)
            feed = self.feed(target, base, drops_calls=True)
            for places in ((), range(len(sample.text))):
                found = feed.parse(sample.text, places)
                check(not found.calls, "with tool_choice none there must be no call")
                for _, arguments in kept.calls:
                    check(
                        arguments in {"", "{}"} or arguments not in found.content,
                        "with tool_choice none the markup of calls must be dropped, too",
                    )

    def test_works_beside_a_reasoning_parser(self, target: Target, base: ParserContext, texts: list[Sample]) -> None:
        for sample in texts:
            table = self.feed(target, base).table
            if table.whole or table.start != CONTENT:
                return
            check(
                REASONING not in table.states,
                f"a table that leaves reasoning to others must not have a state {REASONING!r}",
            )
            both = Feed(combine(table, THINKS), self.new_parser, tools=TOOLS)
            alone = self.feed(target, base).parse(sample.text)
            found = both.parse(f"¤thinks¤so, so¤/thinks¤{sample.text}", range(len(sample.text)))
            check(
                found.reasoning == "so, so" and (found.content, found.calls) == (alone.content, alone.calls),
                f"calls must be found behind reasoning: {sample.text!r} came out as {found}, alone as {alone}",
            )
