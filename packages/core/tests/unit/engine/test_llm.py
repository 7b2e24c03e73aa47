from __future__ import annotations

import gc
import itertools
import threading
import weakref

import pytest

from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    Exit,
    NameState,
    ParserContext,
    ParserTable,
    TextState,
    ToolParserOffer,
)
from kernelet.contracts.sampling import SamplerParams, SamplingParams
from kernelet.contracts.serving import ParsersInfo
from kernelet.engine.llm import LLM
from kernelet.engine.several import raise_first_failure
from kernelet.errors import (
    ChatTemplateError,
    EngineDeadError,
    ParameterError,
    PromptError,
    RequestFailedError,
    SelectionError,
)
from kernelet.hookspecs import hookimpl
from kernelet.testing.null.plugin import NullPlugin
from kernelet.testing.null.tokens import generate
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable

GREEDY = SamplingParams(temperature=0.0, max_tokens=8)


def truth(prompt, count=8, params=None):
    return generate(list(prompt), params or SamplerParams(seed=0, temperature=0.0), 260, count)


@pytest.fixture(scope="module")
def llm(null_folder, null_options):
    with LLM(str(null_folder), **null_options) as llm:
        yield llm


def test_prompts_are_answered_in_their_order(llm):
    prompts = ["hello", [1, 2, 3], {"prompt": "x"}, {"prompt_token_ids": [9]}]
    outputs = llm.generate(prompts, GREEDY)
    expected = [b"hello", [1, 2, 3], b"x", [9]]
    assert [output.prompt_token_ids for output in outputs] == [list(prompt) for prompt in expected]
    assert [output.outputs[0].token_ids for output in outputs] == [truth(prompt) for prompt in expected]
    assert all(output.finished and output.outputs[0].finish_reason == "length" for output in outputs)
    assert [output.prompt for output in outputs] == ["hello", None, "x", None]


def test_the_tokenizer_is_the_models(llm):
    tokenizer = llm.get_tokenizer()
    assert tokenizer.decode(tokenizer.encode("hello")) == "hello"
    assert tokenizer.eos_token_ids == {257}


def test_one_prompt_is_a_list_of_one(llm):
    (output,) = llm.generate("hello", GREEDY)
    assert output.outputs[0].token_ids == truth(b"hello")
    (output,) = llm.generate([1, 2, 3], GREEDY)
    assert output.outputs[0].token_ids == truth([1, 2, 3])
    assert llm.generate([]) == []


def test_each_prompt_may_have_its_own_parameters(llm):
    outputs = llm.generate(["a", "b"], [SamplingParams(max_tokens=1), SamplingParams(max_tokens=2)])
    assert [len(output.outputs[0].token_ids) for output in outputs] == [1, 2]
    with pytest.raises(ParameterError, match="got 1 for 2 prompts"):
        llm.generate(["a", "b"], [SamplingParams()])


def test_everything_is_checked_before_anything_runs(llm):
    before = llm.stats().num_steps
    with pytest.raises(ParameterError, match=r"^prompts\[1\]: top_p: got 2") as caught:
        llm.generate(["a", "b", "c"], [GREEDY, SamplingParams(top_p=2.0), GREEDY])
    assert caught.value.parameter == "top_p"
    with pytest.raises(PromptError, match=r"^prompts\[2\]: the prompt is empty"):
        llm.generate(["a", "b", ""], GREEDY)
    with pytest.raises(PromptError, match=r"^the prompt is empty"):
        llm.generate("", GREEDY)
    assert llm.stats().num_steps == before
    assert llm.generate("a", GREEDY)[0].outputs[0].token_ids == truth(b"a")


def test_several_answers_share_the_prompt(llm):
    prompt = list(range(50))
    llm.reset_prefix_cache()
    before = llm.stats()
    (output,) = llm.generate([prompt], SamplingParams(n=3, temperature=1.0, seed=5, max_tokens=4))
    after = llm.stats()
    texts = [tuple(choice.token_ids) for choice in output.outputs]
    assert len(set(texts)) == 3
    assert [choice.index for choice in output.outputs] == [0, 1, 2]
    assert after.prefix_hits - before.prefix_hits == 2 * 48  # all full blocks of the prompt, for two answers
    (single,) = llm.generate([prompt], SamplingParams(temperature=1.0, seed=5, max_tokens=4))
    assert tuple(single.outputs[0].token_ids) == texts[0]


def test_a_stop_string_ends_the_request_in_the_engine_too(llm):
    tokens = truth(b"hello", 200)
    allowed = [97, 98]
    (free,) = llm.generate("hello", SamplingParams(temperature=0.0, max_tokens=100, allowed_token_ids=allowed))
    text = free.outputs[0].text
    stop = text[10:13]
    (output,) = llm.generate(
        "hello", SamplingParams(temperature=0.0, max_tokens=100, allowed_token_ids=allowed, stop=[stop])
    )
    (choice,) = output.outputs
    assert choice.text == text[: text.index(stop)]
    assert (choice.finish_reason, choice.stop_reason) == ("stop", stop)
    assert len(tokens) == 200
    llm.reset_prefix_cache()  # waits for the engine
    assert llm.frontend.client._running.core.cache.capacity.usage == 0.0


def test_eos_stops_unless_it_is_ignored(llm):
    only = SamplingParams(temperature=0.0, max_tokens=5, allowed_token_ids=[257])
    (stopped,) = llm.generate("x", only)
    assert (stopped.outputs[0].token_ids, stopped.outputs[0].finish_reason) == ([257], "stop")
    ignoring = SamplingParams(temperature=0.0, max_tokens=5, allowed_token_ids=[257], ignore_eos=True)
    (ignored,) = llm.generate("x", ignoring)
    assert (ignored.outputs[0].token_ids, ignored.outputs[0].finish_reason) == ([257] * 5, "length")
    assert ignored.outputs[0].text == ""


def test_a_prompt_can_be_scored_without_generating(llm):
    (output,) = llm.generate("abc", SamplingParams(max_tokens=0, prompt_logprobs=1))
    assert output.prompt_logprobs[0] is None
    assert [next(iter(position)) for position in output.prompt_logprobs[1:]] == [98, 99]
    assert (output.outputs[0].token_ids, output.outputs[0].finish_reason) == ([], "length")


def test_chat_uses_the_models_template(llm):
    messages = [{"role": "user", "content": "hi"}]
    (output,) = llm.chat(messages, GREEDY)
    assert output.prompt == "<|user|>hi<|assistant|>"
    assert output.prompt_token_ids == [258, *b"hi", 259]
    outputs = llm.chat([messages, messages], GREEDY)
    assert len(outputs) == 2
    with pytest.raises(ChatTemplateError, match=r"^messages\[1\]: "):
        llm.chat([messages, [{"role": "user"}]], GREEDY)


def test_a_stream_grows_up_to_the_same_answer(llm):
    seen = [output.outputs[0].token_ids for output in llm.stream("hello", GREEDY)]
    assert seen[-1] == truth(b"hello")
    assert all(later[: len(earlier)] == earlier for earlier, later in itertools.pairwise(seen))


def test_leaving_a_stream_aborts_the_request(endless_folder, null_options):
    with LLM(str(endless_folder), **null_options) as llm:
        stream = llm.stream("hello", SamplingParams(max_tokens=None, ignore_eos=True))
        next(stream)
        stream.close()
        llm.reset_prefix_cache()  # waits for the engine
        assert llm.stats().finished == {"abort": 1}


def test_a_failure_of_one_keeps_the_results_of_the_others():
    with pytest.raises(RequestFailedError, match=r"^prompts\[1\]: it broke") as caught:
        raise_first_failure([None, "it broke"], ["one", None])
    assert caught.value.outputs == ("one", None)
    with pytest.raises(RequestFailedError, match=r"^it broke"):
        raise_first_failure(["it broke"], [None])
    raise_first_failure([None, None], ["one", "two"])


def test_tokens_can_be_counted(llm):
    assert llm.count_tokens("abc") == 3
    assert llm.count_tokens([1, 2]) == 2


def test_configuration_and_plan_are_told(llm):
    assert llm.config.model.max_model_len == 256
    assert llm.plan.platform == "null"


def test_after_shutdown_nothing_runs(null_folder, null_options):
    llm = LLM(str(null_folder), **null_options)
    llm.shutdown()
    llm.shutdown()
    with pytest.raises(EngineDeadError, match="shut down"):
        llm.generate("x", GREEDY)


def test_an_engine_that_nobody_holds_stops(null_folder, null_options):
    llm = LLM(str(null_folder), **null_options)
    thread = llm.frontend.client._thread
    gone = weakref.ref(llm)
    del llm
    gc.collect()
    assert gone() is None
    thread.join(10)
    assert thread not in threading.enumerate()


def test_plugin_objects_may_be_handed_over(null_folder):
    from kernelet.testing.null.plugin import NullPlugin

    with LLM(str(null_folder), plugins=["core", NullPlugin()], platform="null") as llm:
        assert llm.generate("x", GREEDY)[0].outputs[0].token_ids == truth(b"x")


# --- answers that are parsed ---------------------------------------------------------------------


def names(context):
    """Thoughts between special tokens, calls as ``(nameA...Z``: what the null model's tokens make many of."""
    return ParserTable(
        states={
            REASONING: TextState(into=REASONING, exits=(Exit("<|user|>", CONTENT),)),
            "name": NameState(exits=(Exit("A", "called"),)),
            "called": TextState(into="", exits=(Exit("Z", CONTENT, closes=True),)),
        },
        content_exits=(Exit("(", "name", opens=True), Exit("<|user|>", REASONING)),
        start=REASONING if context.prompt.endswith("<|assistant|>") else CONTENT,
    )


class Names:
    name = "names"

    @hookimpl
    def kernelet_tool_parsers(self):
        return (ToolParserOffer(name="names", target=f"{__name__}:names", chat_template_hints=("<|{{",)),)


TOOLS = [{"type": "function", "function": {"name": "f"}}]
ALLOWED = [*b"(AZx", 258]
"""``258`` is ``<|user|>``."""


@pytest.fixture(scope="module")
def parsing_llm(null_folder):
    with LLM(str(null_folder), plugins=[NullPlugin(), Names()], platform="null", tool_call_parser="auto") as llm:
        yield llm


def parsed_alone(llm, token_ids, prompt="<|assistant|>"):
    """The truth: all text at once, through a parser of its own."""
    tokenizer = llm.get_tokenizer()
    marker = "<|user|>"
    parser = OutputParser(CompiledTable(names(ParserContext(prompt=prompt)), lambda text: text == marker))
    for index in token_ids:
        text = tokenizer.decode([index], skip_special_tokens=False)
        parser.push([Span(text, (index,), special=text == marker)])
    return parser.finish(cut=True)


def same(message, expected):
    return [(call.name, call.arguments) for call in message.tool_calls] == [
        (call.name, call.arguments) for call in expected.tool_calls
    ] and (message.reasoning, message.content, message.num_reasoning_tokens) == (
        expected.reasoning,
        expected.content,
        expected.num_reasoning_tokens,
    )


def test_chats_are_parsed(parsing_llm):
    llm = parsing_llm
    params = SamplingParams(n=3, temperature=1.0, seed=5, max_tokens=120, allowed_token_ids=ALLOWED)
    chats = [[{"role": "user", "content": text}] for text in "abcd"]
    outputs = llm.chat(chats, params, tools=TOOLS)
    choices = [choice for output in outputs for choice in output.outputs]
    assert all(same(choice.message, parsed_alone(llm, choice.token_ids)) for choice in choices)
    assert sum(len(choice.message.tool_calls) for choice in choices) > 10
    ids = [call.id for choice in choices for call in choice.message.tool_calls]
    assert len(set(ids)) == len(ids)
    without = llm.chat(chats, params)
    assert [choice.message for output in without for choice in output.outputs] == [None] * 12
    for output, plain in zip(outputs, without, strict=True):
        assert [choice.text for choice in output.outputs] == [choice.text for choice in plain.outputs]


def test_calls_may_be_taken_out(parsing_llm):
    (output,) = parsing_llm.chat(
        [{"role": "user", "content": "a"}],
        SamplingParams(temperature=1.0, seed=5, max_tokens=120, allowed_token_ids=ALLOWED),
        tools=TOOLS,
        tool_choice="none",
        add_generation_prompt=False,
    )
    message = output.outputs[0].message
    assert message.tool_calls == []
    assert "(" not in message.content
    assert output.outputs[0].text != message.content
    with pytest.raises(ParameterError, match="tool_choice"):
        parsing_llm.chat([{"role": "user", "content": "a"}], tools=TOOLS, tool_choice="required")


def test_a_stream_of_messages_grows(parsing_llm):
    prompt = parsing_llm.chat_prompt([{"role": "user", "content": "a"}], tools=TOOLS)
    params = SamplingParams(temperature=1.0, seed=5, max_tokens=60, allowed_token_ids=ALLOWED)
    reasoning = [output.outputs[0].message.reasoning for output in parsing_llm.stream(prompt, params)]
    assert len(reasoning) > 20
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(reasoning))


def test_what_is_installed_and_what_is_named(null_folder, parsing_llm):
    assert parsing_llm.parsers == ParsersInfo(tool="names")
    assert parsing_llm.config.plugins.tool_call_parser == "names"
    with pytest.raises(SelectionError, match=r"No tool parser is named 'nams' \(did you mean names\?\)"):
        LLM(str(null_folder), plugins=[NullPlugin(), Names()], platform="null", tool_call_parser="nams")
