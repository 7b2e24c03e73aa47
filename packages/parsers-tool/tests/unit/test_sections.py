from __future__ import annotations

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet_parsers_tool import sections
from kernelet_parsers_tool.sections import BEGIN, CALL, CALL_END, END, SEPARATOR

TOKENS = (BEGIN, END, CALL, CALL_END, SEPARATOR)
KIMI = ("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>")


def v3(name, arguments):
    return f"{CALL}function{SEPARATOR}{name}\n```json\n{arguments}\n```{CALL_END}"


def v31(name, arguments):
    return f"{CALL}{name}{SEPARATOR}{arguments}{CALL_END}"


@pytest.mark.parametrize("target, call", [(sections.deepseek_v3, v3), (sections.deepseek_v31, v31)])
@pytest.mark.parametrize("tokens", [(), TOKENS])
@pytest.mark.parametrize("begin, end", [(BEGIN, END), (BEGIN, ""), ("", END), ("", "")])
def test_calls_in_a_section_that_may_lack_its_ends(target, call, tokens, begin, end):
    text = "So:\n" + begin + call("f", '{"a": "```"}') + "\n" + call("g", "{}") + end
    found = Feed(target(ParserContext()), tokens=tokens).parse(text, range(len(text)))
    assert (found.content, found.calls) == ("So:", (("f", '{"a": "```"}'), ("g", "{}")))


@pytest.mark.parametrize("target, call", [(sections.deepseek_v3, v3), (sections.deepseek_v31, v31)])
def test_text_behind_calls_is_content(target, call):
    text = f"{BEGIN}{call('f', '{}')}{END} so {BEGIN}{call('g', '{}')} then {END}."
    found = Feed(target(ParserContext())).parse(text, range(len(text)))
    assert (found.content, [name for name, _ in found.calls]) == (" so then.", ["f", "g"])


@pytest.mark.parametrize(
    "written, name",
    [
        ("functions.get_weather:0", "get_weather"),
        ("functions.a.b-c:12", "a.b-c"),
        ("get_weather:1", "get_weather"),
        ("get_weather", "get_weather"),
        (" functions.f:0\n", "f"),
    ],
)
def test_a_kimi_id_says_the_name(written, name):
    begin, arguments, end = KIMI
    feed = Feed(sections.kimi_k2(ParserContext()))
    [call] = feed.message(f"{begin}{written}{arguments}{{}}{end}").tool_calls
    assert (call.name, call.id, call.arguments) == (name, written.strip(), "{}")


def test_two_calls_with_one_kimi_id_have_two():
    begin, arguments, end = KIMI
    text = f"{begin}functions.f:0{arguments}{{}}{end}" * 2
    first, second = Feed(sections.kimi_k2(ParserContext())).message(text).tool_calls
    assert first.id == "functions.f:0" != second.id


def test_a_kimi_call_ends_reasoning():
    table = sections.kimi_k2(ParserContext())
    assert [exit_.in_reasoning for exit_ in table.content_exits if exit_.opens] == [True, True, True]
