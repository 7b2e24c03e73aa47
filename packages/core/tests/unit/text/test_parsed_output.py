from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, decoders

from kernelet.contracts.parsing import CONTENT, REASONING, Exit, JsonCallsState, ParserTable, TextState
from kernelet.text.output import OutputAssembler, TextOptions
from kernelet.text.parsed_output import ParsedAssembler
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable
from kernelet.text.stop import StopStrings
from kernelet.text.tokenizer import Tokenizer

TABLE = ParserTable(
    states={
        REASONING: TextState(into=REASONING, exits=(Exit("<|extra|>", CONTENT),)),
        "calls": JsonCallsState(to="after"),
        "after": TextState(into="", exits=(Exit("</s>", CONTENT, closes=True), Exit("<|end|>", CONTENT, closes=True))),
    },
    content_exits=(Exit("<tool_call>", "calls", opens=True), Exit("<|end|>", REASONING)),
)
"""``<tool_call>`` is a token that is shown, the others are special; all four are one token of the tokenizers here."""

MARKERS = ("<tool_call>", "<|end|>", "<|extra|>", "</s>")


@pytest.fixture(scope="module", params=["byte_level", "sentencepiece", "regex_replace", "wordpiece"])
def tokenizer(request, make_backend):
    """Tokenizers with all of the markers; the decoders of the last two have no reading in bytes."""
    backend = make_backend["sentencepiece" if request.param == "regex_replace" else request.param]()
    if request.param == "regex_replace":
        steps = [decoders.Replace(Regex("▁"), " "), decoders.ByteFallback(), decoders.Fuse()]
        backend.decoder = decoders.Sequence(steps)
    backend.add_tokens([AddedToken("<tool_call>", special=False, normalized=False)])
    backend.add_special_tokens(list(MARKERS[1:]))
    return Tokenizer(backend)


class Recorder:
    def __init__(self):
        self.spans = []

    def push(self, spans):
        self.spans += spans


def ids_of(tokenizer, *texts):
    return [index for text in texts for index in tokenizer.encode(text, add_special_tokens=False)]


def marker_ids(tokenizer):
    return frozenset(tokenizer.token_to_id(text) for text in MARKERS)


def drive(assembler, groups, *, stop_token=False):
    """Text, tokens that count, and the stop string."""
    text, count = "", 0
    for place, group in enumerate(groups, 1):
        delta = assembler.push(group, ends_with_stop_token=stop_token and place == len(groups))
        text, count = text + delta.text, count + delta.num_tokens
        if delta.stop is not None:
            return text, count, delta.stop
    delta = assembler.finish()
    return text + delta.text, count, delta.stop


def parsed(tokenizer, groups, stops=(), *, stop_token=False, parser=None, **options):
    parser = Recorder() if parser is None else parser
    checked = StopStrings(stops) if stops else None
    made = ParsedAssembler(tokenizer, [], parser, marker_ids(tokenizer), checked, TextOptions(**options))
    return parser, drive(made, groups, stop_token=stop_token)


def plain(tokenizer, groups, stops=(), *, stop_token=False, **options):
    checked = StopStrings(stops) if stops else None
    return drive(OutputAssembler(tokenizer, [], checked, TextOptions(**options)), groups, stop_token=stop_token)


def machine(tokenizer):
    return OutputParser(CompiledTable(TABLE, lambda text: text in MARKERS))


PIECES = st.lists(
    st.sampled_from([*MARKERS, "ab", "b", " c", "🙂", '{"name": "f"}', "<", "x<tool_call>ab", "€"]), max_size=8
)
STOPS = st.lists(st.sampled_from(["ab", "bb", "b c", "_call>", "l>a", "<|end|>", "\ufffd", "cx"]), max_size=2)
OPTIONS = st.fixed_dictionaries(
    {
        "skip_special_tokens": st.booleans(),
        "include_stop_str_in_output": st.booleans(),
        "min_tokens": st.integers(0, 3),
        "spaces_between_special_tokens": st.booleans(),
    }
)


@given(data=st.data())
def test_the_text_is_the_same_and_the_message_does_not_depend_on_groups(tokenizer, data):
    ids = ids_of(tokenizer, *data.draw(PIECES))
    if data.draw(st.booleans()):
        ids = data.draw(st.permutations(ids))  # characters come apart
    stops, options, ends = data.draw(STOPS), data.draw(OPTIONS), data.draw(st.booleans())
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ids)), max_size=4)))
    groups = [part for a, b in zip([0, *cuts], [*cuts, len(ids)], strict=True) if (part := ids[a:b])]
    ends = ends and bool(ids)
    single = [[index] for index in ids]
    first, text = parsed(tokenizer, single, stops, stop_token=ends, parser=machine(tokenizer), **options)
    assert text == plain(tokenizer, single, stops, stop_token=ends, **options)
    second, again = parsed(tokenizer, groups, stops, stop_token=ends, parser=machine(tokenizer), **options)
    assert again == text

    def said(parser):
        message = parser.finish()
        calls = [(call.name, call.arguments) for call in message.tool_calls]
        return message.reasoning, message.content, calls, message.num_reasoning_tokens

    assert said(second) == said(first)


@given(data=st.data())
def test_the_parser_is_given_the_text(tokenizer, data):
    ids = ids_of(tokenizer, *data.draw(PIECES))
    stops, options = data.draw(STOPS), data.draw(OPTIONS)
    recorder, (text, count, _) = parsed(tokenizer, [[index] for index in ids], stops, **options)
    hidden = {tokenizer.token_to_id(marker) for marker in MARKERS[1:]} if options["skip_special_tokens"] else set()
    shown = [span.text for span in recorder.spans if not hidden.intersection(span.token_ids)]
    assert "".join(shown) == text
    taken = [index for span in recorder.spans for index in span.token_ids]
    assert taken == ids[: len(taken)]
    assert len(taken) <= count


@pytest.mark.parametrize("skips", [True, False])
def test_markers_are_seen_whether_or_not_they_are_shown(tokenizer, skips):
    ids = ids_of(tokenizer, "<|end|>", "b", "<|extra|>", "b", "<tool_call>", "b", "</s>")
    recorder, (text, _, _) = parsed(tokenizer, [ids], skip_special_tokens=skips)
    seen = [(span.text, span.token_ids) for span in recorder.spans if span.special]
    assert [marker for marker, _ in seen] == ["<|end|>", "<|extra|>", "<tool_call>", "</s>"]
    assert [index for _, (index,) in seen] == [tokenizer.token_to_id(marker) for marker, _ in seen]
    assert ("<|end|>" in text, "<tool_call>" in text) == (not skips, True)


def test_what_stands_between_hidden_markers_is_parsed(byte_level):
    ids = ids_of(byte_level, "<|end|>", "b", "<|extra|>", "b", "<tool_call>", '{"name": "f"}', "</s>", "b")
    parser, (text, _, _) = parsed(byte_level, [ids], parser=machine(byte_level))
    message = parser.finish()
    assert text == 'bb<tool_call>{"name": "f"}b'
    assert (message.reasoning, message.content) == ("b", "bb")
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("f", "{}")]


def test_an_unfinished_character_stays_before_a_hidden_marker(byte_level):
    first, *_ = ids_of(byte_level, "€")
    (begin,), (end,), (letter,) = (ids_of(byte_level, text) for text in ("<|end|>", "<|extra|>", "b"))
    for groups in ([[begin, first, end, letter]], [[begin], [first], [end], [letter]]):
        parser, (text, _, _) = parsed(byte_level, groups, parser=machine(byte_level))
        message = parser.finish()
        assert (message.reasoning, message.content, text) == ("\ufffd", "b", "\ufffdb")


def test_a_marker_that_ended_the_text_is_seen(byte_level):
    ids = ids_of(byte_level, "<|end|>", "b", "<|extra|>")
    recorder, (text, count, _) = parsed(byte_level, [ids], stop_token=True)
    assert (text, count) == ("b", 3)
    assert [span.text for span in recorder.spans] == ["<|end|>", "b", "<|extra|>"]


@pytest.mark.parametrize(
    "stop, include, text, seen",
    [
        ("_call>", False, "b<tool", ["b", "<tool"]),
        ("_call>", True, "b<tool_call>", ["b", "<tool_call>"]),
        ("b<tool_call>", False, "", []),
        ("<tool_call>", False, "b", ["b"]),
        ("l>c", False, "b<tool_cal", ["b", "<tool_cal"]),
        ("l>c", True, "b<tool_call>c", ["b", "<tool_call>", "c"]),
        ("cb", False, "b<tool_call>", ["b", "<tool_call>"]),
        ("cb", True, "b<tool_call>cb", ["b", "<tool_call>", "c", "<|end|>", "b"]),
    ],
)
def test_stop_strings_and_markers(byte_level, stop, include, text, seen):
    ids = ids_of(byte_level, "b", "<tool_call>", "c", "<|end|>", "b")
    recorder, (found, _, why) = parsed(byte_level, [ids], [stop], include_stop_str_in_output=include)
    assert (found, why) == (text, stop)
    assert [span.text for span in recorder.spans] == seen
    markers = {span.text for span in recorder.spans if span.special}
    assert markers <= set(MARKERS)


def test_nothing_follows_the_end(byte_level):
    ids = ids_of(byte_level, "ab", "c")
    made = ParsedAssembler(byte_level, [], Recorder(), (), StopStrings(["ab"]))
    assert made.push(ids).stop == "ab"
    assert made.finish().text == ""
    with pytest.raises(ValueError, match="has ended"):
        made.push(ids)
