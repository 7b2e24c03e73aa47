from __future__ import annotations

import math

import pytest
import sample_parsers
from hypothesis import given
from hypothesis import strategies as st

from kernelet.config import PluginsConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    Exit,
    NameState,
    ParserTable,
    ReasoningParserOffer,
    TextState,
)
from kernelet.contracts.platform import Capabilities, PlatformConfig
from kernelet.contracts.sampling import SamplingParams, TokenLogprobs
from kernelet.engine.input_processor import InputProcessor
from kernelet.engine.output_processor import RequestState
from kernelet.engine.parsing import ChoiceParser, make_parsers
from kernelet.engine.prompts import ParsedPrompt
from kernelet.request.outputs import EngineOutput
from kernelet.testing.null.harness import null_engine_config
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.text.tokenizer import Tokenizer

EOS = 257


class Platform(PlatformConfig):
    def capabilities(self):
        return Capabilities(device_type="d", dtypes=("float32",), memory_bytes=1)


@pytest.fixture(scope="module")
def tokenizer(null_folder):
    return Tokenizer.from_folder(null_folder)


@pytest.fixture(scope="module")
def new(tokenizer):
    processor = InputProcessor(tokenizer, null_engine_config().model, Platform(Settings(plugin="p")), {})

    def make(**params):
        return RequestState(processor.prepare("p", SamplingParams(**params), request_id="r"), tokenizer)

    return make


def out(text=b"", request_id="r", **fields):
    return EngineOutput(request_id=request_id, token_ids=list(text), **fields)


def test_text_grows_and_snapshots_stay(new):
    state = new()
    state.update(out(b"ab"))
    first = state.snapshot()
    state.update(out(b"c", finish_reason="length"))
    last = state.snapshot()
    assert (first.outputs[0].text, first.finished, first.outputs[0].finish_reason) == ("ab", False, None)
    assert (last.outputs[0].text, last.finished, last.outputs[0].finish_reason) == ("abc", True, "length")
    assert first.outputs[0].token_ids == list(b"ab")


def test_eos_is_in_the_ids_and_not_in_the_text(new):
    state = new()
    state.update(EngineOutput(request_id="r", token_ids=[97, EOS], finish_reason="stop", stop_token_id=EOS))
    (choice,) = state.snapshot().outputs
    assert (choice.text, choice.token_ids, choice.finish_reason, choice.stop_reason) == ("a", [97, EOS], "stop", None)


def test_a_stop_token_of_the_users_is_the_reason_and_not_in_the_text(new):
    state = new(stop_token_ids=[98])
    state.update(out(b"ab", finish_reason="stop", stop_token_id=98))
    (choice,) = state.snapshot().outputs
    assert (choice.text, choice.token_ids, choice.stop_reason) == ("a", [97, 98], 98)


def test_a_stop_string_ends_the_answer_in_the_middle_of_a_step(new):
    state = new(stop=["bc"])
    assert state.update(out(b"ab")) is False
    assert state.snapshot().outputs[0].text == "a"  # "b" may become the stop string
    assert state.update(out(b"cde")) is True
    (choice,) = state.snapshot().outputs
    assert (choice.text, choice.token_ids) == ("a", list(b"abc"))
    assert (choice.finish_reason, choice.stop_reason) == ("stop", "bc")
    assert state.update(out(b"more")) is False
    assert state.snapshot().outputs[0].token_ids == list(b"abc")


def test_a_stop_string_may_be_kept(new):
    state = new(stop=["bc"], include_stop_str_in_output=True)
    state.update(out(b"abcd"))
    assert state.snapshot().outputs[0].text == "abc"


def test_the_engine_is_not_told_to_stop_what_it_has_ended(new):
    state = new(stop=["b"])
    assert state.update(out(b"ab", finish_reason="length")) is False
    assert state.snapshot().outputs[0].finish_reason == "stop"


def test_what_connectors_say_of_a_request_that_ended(new):
    state = new(stop=["b"])
    state.update(out(b"x"))
    assert state.snapshot().kv_transfer_params is None
    state.update(out(b"b", finish_reason="length", kv_transfer_params={"remote": 1}))
    assert state.snapshot().kv_transfer_params == {"remote": 1}


def test_held_back_text_comes_at_the_end(new):
    state = new(stop=["bcd"])
    state.update(out(b"abc"))
    assert state.snapshot().outputs[0].text == "a"
    state.update(out(finish_reason="length"))
    assert state.snapshot().outputs[0].text == "abc"


def test_no_stop_string_before_min_tokens(new):
    state = new(stop=["b"], min_tokens=2)
    state.update(out(b"bbb"))
    (choice,) = state.snapshot().outputs
    assert (choice.text, choice.token_ids) == ("bb", list(b"bbb"))


def test_a_character_in_pieces_appears_when_it_is_whole(new):
    state = new()
    state.update(out("ď".encode()[:1]))
    assert state.snapshot().outputs[0].text == ""
    state.update(out("ď".encode()[1:]))
    assert state.snapshot().outputs[0].text == "ď"
    state.update(out("🙂".encode()[:2]))
    state.update(out(finish_reason="abort"))
    assert state.snapshot().outputs[0].text == "ď\N{REPLACEMENT CHARACTER}"


def test_logprobs_have_the_real_bytes_and_add_up(new):
    state = new(logprobs=1)
    rows = [TokenLogprobs([196, 97], [-0.5, -0.7], [1, 2]), TokenLogprobs([143, 98], [-1.0, -0.1], [2, 1])]
    state.update(out("ď".encode(), logprobs=rows, finish_reason="length"))
    (choice,) = state.snapshot().outputs
    assert b"".join(next(iter(position.values())).bytes for position in choice.logprobs) == "ď".encode()
    assert list(choice.logprobs[1]) == [143, 98]
    assert choice.logprobs[1][143].rank == 2
    assert choice.cumulative_logprob == -1.5


def test_logprobs_end_with_the_stop_string(new):
    state = new(logprobs=0, stop=["b"])
    rows = [TokenLogprobs([byte], [-1.0], [1]) for byte in b"abc"]
    state.update(out(b"abc", logprobs=rows))
    (choice,) = state.snapshot().outputs
    assert len(choice.logprobs) == len(choice.token_ids) == 2


def test_no_logprobs_unless_asked_for(new):
    state = new()
    state.update(out(b"a", finish_reason="length"))
    (choice,) = state.snapshot().outputs
    assert choice.logprobs is None
    assert choice.cumulative_logprob is None


def test_prompt_logprobs_start_with_none(new):
    state = new(prompt_logprobs=0, max_tokens=0)
    state.update(out(prompt_logprobs=[TokenLogprobs([97], [-math.inf], [9])], finish_reason="length"))
    output = state.snapshot()
    assert output.prompt_logprobs[0] is None
    assert output.prompt_logprobs[1][97].logprob == -math.inf


def test_choices_end_one_by_one(new):
    state = new(n=2)
    state.update(out(b"a", "r/1", finish_reason="length"))
    assert not state.finished
    assert state.unfinished_ids == ["r/0"]
    state.update(out(b"b", "r/0", finish_reason="length", num_cached_tokens=1))
    output = state.snapshot()
    assert [choice.text for choice in output.outputs] == ["b", "a"]
    assert output.num_cached_tokens == 1


def test_an_error_is_kept(new):
    state = new()
    state.update(out(finish_reason="error", error="it broke"))
    assert state.finished
    assert (state.error, state.error_parameter) == ("it broke", None)
    late = new()
    late.update(out(finish_reason="error", error="top_p: too late", error_parameter="top_p"))
    assert (late.error, late.error_parameter, late.try_again) == ("top_p: too late", "top_p", False)
    busy = new()
    busy.update(out(finish_reason="error", error="others wait", try_again=True))
    assert busy.try_again


def test_without_detokenization_there_is_no_text(new):
    state = new(detokenize=False)
    state.update(out(b"ab", finish_reason="length"))
    assert state.snapshot().outputs[0].text == ""


def test_without_a_tokenizer_there_are_ids_and_logprobs(tokenizer):
    processor = InputProcessor(None, null_engine_config().model, Platform(Settings(plugin="p")), {})
    state = RequestState(processor.prepare([1], SamplingParams(logprobs=0), request_id="r"), None)
    state.update(out(b"a", logprobs=[TokenLogprobs([97], [-1.0], [1])]))
    assert state.snapshot().outputs[0].logprobs[0][97].logprob == -1.0


@given(st.lists(st.sampled_from(list("abc€".encode())), max_size=30), st.data())
def test_the_result_does_not_depend_on_how_tokens_were_grouped(new, tokens, data):
    def run(groups):
        state = new(stop=["aba", "c€"])
        for group in groups:
            state.update(out(group))
        if not state.finished:
            state.update(out(finish_reason="length"))
        choice = state.snapshot().outputs[0]
        return choice.text, choice.token_ids, choice.stop_reason

    groups, rest = [], tokens
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        groups.append(rest[:size])
        rest = rest[size:]
    assert run(groups) == run([[token] for token in tokens])


# --- answers that are parsed ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def parse_text(tokenizer):
    """Calls and thoughts in text."""
    plugins = FixedPlugins((*sample_parsers.kernelet_tool_parsers(), *sample_parsers.kernelet_reasoning_parsers()))
    parsers = make_parsers(PluginsConfig(tool_call_parser="calls", reasoning_parser="thoughts"), plugins, tokenizer)
    return parsers.parsing("p", [{"name": "f"}])


@pytest.fixture(scope="module")
def parse_tokens(tokenizer):
    """Thoughts between special tokens."""

    def table(context):
        return ParserTable(
            states={REASONING: TextState(into=REASONING, exits=(Exit("<|assistant|>", CONTENT),))},
            content_exits=(Exit("<|user|>", REASONING),),
        )

    plugins = FixedPlugins([ReasoningParserOffer(name="r", target="x")], {"x": table})
    return make_parsers(PluginsConfig(reasoning_parser="r"), plugins, tokenizer).parsing("p")


@pytest.fixture(scope="module")
def new_parsed(tokenizer):
    processor = InputProcessor(tokenizer, null_engine_config().model, Platform(Settings(plugin="p")), {})

    def make(parsing, **params):
        prompt = ParsedPrompt(text="p", parsing=parsing)
        return RequestState(processor.prepare(prompt, SamplingParams(**params), request_id="r"), tokenizer)

    return make


def told(choice):
    message = choice.message
    return message.reasoning, message.content, [(call.name, call.arguments) for call in message.tool_calls]


ANSWER = b'<think>why</think>\nso <call>{"name": "f", "arguments": {"a": "</call>"}}</call> done'


def test_without_a_parser_there_is_no_message(new):
    state = new()
    state.update(out(ANSWER, finish_reason="length"))
    assert state.snapshot().outputs[0].message is None


def test_a_message_grows_and_snapshots_stay(new_parsed, parse_text):
    state = new_parsed(parse_text)
    state.update(out(ANSWER[:12]))
    first = state.snapshot().outputs[0]
    state.update(out(ANSWER[12:60]))
    second = state.snapshot().outputs[0]
    state.update(out(ANSWER[60:], finish_reason="stop"))
    last = state.snapshot().outputs[0]
    assert told(first) == ("why", "", [])
    assert told(second) == ("why", "so", [("f", '{"a":')])
    assert told(last) == ("why", "so done", [("f", '{"a": "</call>"}')])
    assert (last.text, last.token_ids) == (ANSWER.decode(), list(ANSWER))


@given(data=st.data())
def test_a_message_does_not_depend_on_steps(new_parsed, parse_text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ANSWER)), max_size=6)))
    end = data.draw(st.integers(0, len(ANSWER)))
    stop = data.draw(st.sampled_from([[], ["call>"], ["k>\n"], [" done", "why<"], ["</call> d"]]))
    include = data.draw(st.booleans())
    one_by_one, grouped, plain = (
        new_parsed(parsing, stop=stop, include_stop_str_in_output=include) for parsing in (parse_text, parse_text, None)
    )
    for index in ANSWER[:end]:
        one_by_one.update(out([index]))
    for first, last in zip([0, *cuts], [*cuts, len(ANSWER)], strict=True):
        for state in (grouped, plain):
            state.update(out(ANSWER[first : min(last, end)]))
    found = []
    for state in (one_by_one, grouped, plain):
        state.update(out(finish_reason="length"))
        found.append(state.snapshot().outputs[0])
    assert told(found[0]) == told(found[1])
    for field in ("text", "token_ids", "finish_reason", "stop_reason"):
        assert len({str(getattr(choice, field)) for choice in found}) == 1


def test_the_message_is_that_of_the_text_before_a_stop_string(new_parsed, parse_text):
    state = new_parsed(parse_text, stop=[', "arg'])
    assert state.update(out(ANSWER))
    (choice,) = state.snapshot().outputs
    assert (choice.finish_reason, choice.stop_reason) == ("stop", ', "arg')
    assert told(choice) == ("why", "so", [("f", "")])


@pytest.mark.parametrize(
    "end, cut", [({"stop": ["XY"]}, True), ({"finish": "length"}, True), ({"finish": "stop"}, False)]
)
def test_a_stop_string_cuts_as_a_limit_does(new_parsed, parse_text, monkeypatch, end, cut):
    cuts = []
    monkeypatch.setattr(ChoiceParser, "finish", lambda _, *, cut: cuts.append(cut))
    state = new_parsed(parse_text, stop=end.get("stop", []))
    state.update(out(b"so XY", finish_reason=end.get("finish")))
    assert cuts == [cut]


def test_markers_that_are_not_shown(new_parsed, parse_tokens, tokenizer):
    user, assistant = (tokenizer.token_to_id(text) for text in ("<|user|>", "<|assistant|>"))
    ids = [user, *b"why", assistant, *b"so"]
    for skip, text in ((True, "whyso"), (False, "<|user|>why<|assistant|>so")):
        state = new_parsed(parse_tokens, skip_special_tokens=skip)
        state.update(out(ids, finish_reason="stop"))
        (choice,) = state.snapshot().outputs
        assert (choice.text, told(choice)) == (text, ("why", "so", []))
        assert choice.message.num_reasoning_tokens == 5


def test_an_open_call_stays_as_it_came(new_parsed, parse_text):
    text = b'<call>{"name": "f"'
    for reason, arguments in (("length", ""), ("abort", ""), ("stop", "")):
        state = new_parsed(parse_text)
        state.update(out(text, finish_reason=reason))
        assert told(state.snapshot().outputs[0]) == ("", "", [("f", arguments)])


def test_choices_are_parsed_apart(new_parsed, parse_text):
    state = new_parsed(parse_text, n=3)
    answers = [ANSWER, b"<think>x", b"plain </think>"]
    for place in range(0, len(ANSWER), 3):
        for index, answer in enumerate(answers):
            state.update(out(answer[place : place + 3], request_id=f"r/{index}"))
    for index in range(3):
        state.update(out(request_id=f"r/{index}", finish_reason="stop"))
    found = [told(choice)[:2] for choice in state.snapshot().outputs]
    assert found == [("why", "so done"), ("x", ""), ("", "plain ")]


def test_a_parser_that_fails_ends_its_answer_alone(new_parsed, tokenizer):
    def read(name):
        raise ValueError("bad name")

    table = ParserTable(
        states={"name": NameState(exits=(Exit(")", CONTENT),), read=read)}, content_exits=(Exit("(", "name"),)
    )
    plugins = FixedPlugins([ReasoningParserOffer(name="r", target="x")], {"x": lambda context: table})
    parsing = make_parsers(PluginsConfig(reasoning_parser="r"), plugins, tokenizer).parsing("p")
    state = new_parsed(parsing, n=2)
    assert not state.update(out(b"a(b", request_id="r/0"))
    assert state.update(out(b")c", request_id="r/0"))  # the engine is to stop it
    assert not state.update(out(b"fine", request_id="r/1", finish_reason="stop"))
    assert state.error == "reasoning parser 'r' failed: ValueError: bad name"
    assert [choice.finish_reason for choice in state.snapshot().outputs] == ["error", "stop"]
    assert not state.update(out(b"more", request_id="r/0"))


def test_no_text_no_message(new_parsed, parse_text):
    state = new_parsed(parse_text, detokenize=False)
    state.update(out(ANSWER, finish_reason="stop"))
    assert state.snapshot().outputs[0].message is None
