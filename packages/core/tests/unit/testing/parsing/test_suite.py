from __future__ import annotations

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.sample import Sample
from kernelet.testing.parsing.suite import context_of
from kernelet.testing.reasoning_parser import ReasoningParserSuite
from kernelet.testing.tool_parser import ToolParserSuite


def test_the_context_of_a_sample():
    base = ParserContext(tools=({"name": "f"},), prompt="p", template_kwargs={"a": 1}, parses_tools=True)
    assert context_of(base, Sample(text="")) == base
    sample = Sample(text="", tools=({"name": "g"},), prompt="q", template_kwargs={"b": 2})
    assert context_of(base, sample) == ParserContext(
        tools=({"name": "g"},), prompt="q", template_kwargs={"a": 1, "b": 2}, parses_tools=True
    )


def test_both_kinds_have_the_tests_of_parsers():
    shared = {
        "test_every_cut_at_one_place",
        "test_cuts_at_several_places",
        "test_every_end",
        "test_choices_share_nothing",
        "test_table_has_no_side_effects",
        "test_looks_at_text_once",
        "test_samples_mean_what_they_say",
    }
    for suite in (ToolParserSuite, ReasoningParserSuite):
        assert shared <= set(dir(suite))
