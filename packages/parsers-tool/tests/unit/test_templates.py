"""What we say that models write is what their own chat templates write."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from chat_templates import LLAMA_CPP, VLLM, Archive, own_template, render_template, template_source

from kernelet.contracts.parsing import ParserContext, ToolParserOffer
from kernelet.request.message import ParsedMessage, ToolCall
from kernelet.testing.offered import find_offer
from kernelet.testing.parsing.draw import Shape, make_case, message_of
from kernelet.testing.parsing.feed import Feed, places_of
from kernelet.testing.parsing.sample import plain
from kernelet_parsers_tool import conformance, templates
from kernelet_parsers_tool.conformance import Family

USER = {"role": "user", "content": "Hi"}
MAY_NOT = "{%- set _ = tool_response_queue.ids.append(formatted_id) -%}"
"""Changes a list, which the sandbox of `transformers` refuses."""

NO_CONTENT = ("Llama", "gpt-oss")
"""Calls have no content there, not even an empty one."""
NO_TOOLS = ("Hermes", "llama-cpp-deepseek-r1")
"""What they write of functions needs another library than ours."""

QWEN = ("<|im_start|>assistant\n", "<|im_end|>\n")
DEEPSEEK = ("<｜Assistant｜>", "<｜end▁of▁sentence｜>")
V31 = ("<｜Assistant｜><think></think>", "<｜end▁of▁sentence｜>")
LLAMA = ("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>")
KIMI = ("<|im_assistant|>assistant<|im_middle|>", "<|im_end|>")
GEMMA = ("<|turn>model\n", "<|tool_response>")
MISTRAL = ("[/INST]", "</s>")

GRANITE = ("<|start_of_role|>assistant<|end_of_role|>", "<|end_of_text|>\n")
FIREFUNCTION = (f"{LLAMA[0]} ", "<|eot_id|>")

# Family, template, what stands before and behind the answer, and what an answer may have: text with calls, many calls.
FAMILIES = (
    ("hermes", "Qwen-Qwen2.5-7B-Instruct.jinja", QWEN, True, True),
    ("hermes", "Qwen-Qwen3-0.6B.jinja", (f"{QWEN[0]}<think>\n\n</think>\n\n", QWEN[1]), True, True),
    ("hermes", "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja", QWEN, False, True),
    ("hermes", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja", QWEN, False, True),
    ("hermes", "ibm-granite-granite-4.0.jinja", GRANITE, True, True),
    ("hermes", "ibm-granite-granite-4.1.jinja", GRANITE, True, True),
    ("phi4_mini", "fireworks-ai-llama-3-firefunction-v2.jinja", FIREFUNCTION, False, True),
    ("llama3_json", "meta-llama-Llama-3.1-8B-Instruct.jinja", LLAMA, False, False),
    ("llama3_json", "meta-llama-Llama-3.2-3B-Instruct.jinja", LLAMA, False, False),
    ("llama3_json", "meta-llama-Llama-3.3-70B-Instruct.jinja", LLAMA, False, False),
    ("qwen3_coder", "Qwen3-Coder.jinja", QWEN, True, True),
    ("qwen3_coder", "Qwen3.5-4B.jinja", (f"{QWEN[0]}<think>\n\n</think>\n\n", QWEN[1]), True, True),
    ("step3p5", "StepFun3.5-Flash.jinja", (f"{QWEN[0]}<think>\n\n</think>\n", QWEN[1]), True, True),
    ("minimax_m2", "MiniMax-M2.jinja", ("]~b]ai\n", "[e~[\n"), True, True),
    ("glm45", "GLM-4.6.jinja", ("<|assistant|>\n<think></think>\n", ""), True, True),
    ("glm47", "GLM-4.7-Flash.jinja", ("<|assistant|></think>", ""), True, True),
    ("deepseek_v3", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja", DEEPSEEK, False, True),
    ("deepseek_v3", "llama-cpp-deepseek-r1.jinja", DEEPSEEK, False, True),
    ("deepseek_v31", "deepseek-ai-DeepSeek-V3.1.jinja", V31, True, True),
    ("kimi_k2", "moonshotai-Kimi-K2.jinja", KIMI, True, True),
    ("kimi_k2", "Kimi-K2-Instruct.jinja", KIMI, True, True),
    ("kimi_k2", "Kimi-K2-Thinking.jinja", (f"{KIMI[0]}<think></think>", KIMI[1]), True, True),
    ("mistral_list", "mistralai-Mistral-Nemo-Instruct-2407.jinja", MISTRAL, False, True),
    ("mistral_with_ids", "Mistral-Small-3.2-24B-Instruct-2506.jinja", MISTRAL, False, True),
    ("mistral_named", "mistralai-Ministral-3-14B-Reasoning-2512.jinja", MISTRAL, True, True),
    ("gemma4", "google-gemma-4-31B-it.jinja", GEMMA, False, True),
    ("gemma4", "google-gemma-4-31B-it-interleaved.jinja", (GEMMA[0], "<turn|>"), False, True),
    ("harmony", "openai-gpt-oss-120b.jinja", ("<|start|>assistant", ""), False, False),
)  # fmt: skip


def answers(*, content: bool, many: bool) -> list[tuple[ParsedMessage, tuple[Mapping[str, Any], ...]]]:
    """Random calls, and what may be called."""
    draw = random.Random(7)
    cases = [make_case(Shape(), draw.randint(1, 3 if many else 1), draw.randint(0, 3), seed) for seed in range(40)]
    return [
        (message_of(case.calls, "So then." if content and n % 2 else ""), case.tools) for n, case in enumerate(cases)
    ]


def written(
    file_name: str, message: ParsedMessage, tools: tuple[Mapping[str, Any], ...], source: str | None = None
) -> str:
    """What a template writes behind the user's message."""
    source = (source or template_source(file_name)).replace(MAY_NOT, "")
    calls = [as_request(number, call) for number, call in enumerate(message.tool_calls)]
    said = {"role": "assistant", "tool_calls": calls}
    if message.content or not any(name in file_name for name in NO_CONTENT):
        said["content"] = message.content
    functions = [{"type": "function", "function": {"description": "", **tool}} for tool in tools]
    offered = [] if any(name in file_name for name in NO_TOOLS) else functions
    variables = {"functions": "", "datetime": ""} if "firefunction" in file_name else {}
    return render_template(source, [USER, said], offered, eos_token="</s>", **variables)


def as_request(number: int, call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.loads(call.arguments)}
    return {"type": "function", "id": f"call{number:05}", "function": function}


@pytest.mark.long
@pytest.mark.parametrize("family, file_name, around, content, many", FAMILIES)
def test_answers(family: str, file_name: str, around: tuple[str, str], content: bool, many: bool):
    before, behind = around
    for message, tools in answers(content=content, many=many):
        for number, call in enumerate(message.tool_calls):
            call.id = f"call{number:05}"
        expected = getattr(templates, family)(message, tools)
        found = written(file_name, message, tools).partition(before)[2]
        assert (found.partition(behind)[0] if behind else found).rstrip("\n") == expected.rstrip("\n")


# --- there and back through the templates themselves ---------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Public:
    """A template, and what it can carry.

    Attributes:
        suite: The parser's suite.
        file_name: Of the template.
        around: What stands before and behind the answer.
        archive: Where the template is; None: in no archive, but at ``where``.
        content: Calls may have text before them.
        many: An answer may have several.
        carries: Whether it writes a value of an argument so that it can be read.
    """

    suite: type[Family]
    file_name: str
    around: tuple[str, str]
    archive: Archive | None = VLLM
    where: str = ""
    content: bool = True
    many: bool = True
    carries: Callable[[Any], bool] = lambda _: True


def bare_string(value: Any) -> bool:
    """Strings are put between quotes as they are."""
    return not isinstance(value, str) or not set(value) & set("\"'\\\n\u2028")


def only_bare_strings(value: Any) -> bool:
    """What is no string becomes one."""
    return isinstance(value, str) and bare_string(value)


WRITES = {
    suite.write.__name__: suite
    for suite in vars(conformance).values()
    if isinstance(suite, type) and issubclass(suite, Family) and suite is not Family
}
LLAMA4 = ("<|header_start|>assistant<|header_end|>\n\n", "<|eot|>")
PUBLIC = (
    Public(
        suite=conformance.TestJamba,
        file_name="jamba_mini_1_7_chat_template.jinja",
        around=("<|bom|><|assistant|> ", "<|eom|>"),
        archive=None,
        where="r-rojo/rampipe on GitHub, tests/fixtures",
    ),
    Public(
        suite=conformance.TestOlmo3,
        file_name="tool_chat_template_olmo3.jinja",
        around=QWEN,
        archive=None,
        where="vllm-project/vllm on GitHub, examples, as of 2e30b474",
        content=False,
        carries=bare_string,
    ),
    Public(
        suite=conformance.TestLlama4Pythonic,
        file_name="tool_chat_template_llama4_pythonic.jinja",
        around=LLAMA4,
        content=False,
        carries=only_bare_strings,
    ),
    Public(suite=conformance.TestInternlm, file_name="tool_chat_template_internlm2_tool.jinja", around=QWEN),
    Public(suite=conformance.TestXlam, file_name="tool_chat_template_xlam_llama.jinja", around=LLAMA, content=False),
    Public(suite=conformance.TestXlam, file_name="tool_chat_template_xlam_qwen.jinja", around=QWEN, content=False),
    Public(suite=conformance.TestGranite, file_name="tool_chat_template_granite.jinja", around=GRANITE, content=False),
    *(
        Public(
            suite=WRITES[family],
            file_name=file_name,
            around=around,
            archive=LLAMA_CPP,
            content=content,
            many=many,
        )
        for family, file_name, around, content, many in FAMILIES
    ),
)


@pytest.mark.long
@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.file_name)
def test_calls_come_back_through_the_template(public: Public):
    suite, capabilities, draw = public.suite, public.suite.capabilities, random.Random(11)
    make = find_offer(conformance.PLUGIN, ToolParserOffer, suite.name).target
    shape = Shape(markers=capabilities.tokens, carries=capabilities.carries, typed=capabilities.types == "xml")
    before, behind = public.around
    for number in range(200):
        case = make_case(shape, draw.randint(1, 3 if public.many else 1), draw.randint(0, 3), number)
        calls = tuple((name, {k: v for k, v in values.items() if public.carries(v)}) for name, values in case.calls)
        message = message_of(calls, "So then." if public.content and number % 2 else "")
        for place, call in enumerate(message.tool_calls):
            call.id = f"call{place:05}"
        text = written(public.file_name, message, case.tools, source_of(public)).partition(before)[2]
        text = text.partition(behind)[0] if behind else text
        feed = Feed(
            make(ParserContext(tools=case.tools, parses_tools=True)), tokens=capabilities.tokens, tools=case.tools
        )
        expected = [(name, plain(values)) for name, values in calls]
        for places in ((), places_of(text, number)):
            found = feed.parse(text, places)
            assert [(name, plain(arguments)) for name, arguments in found.calls] == expected, text
            assert found.content.strip() == message.content


def source_of(public: Public) -> str:
    """The template's source."""
    if public.archive is None:
        return own_template(public.file_name, public.where)
    return template_source(public.file_name, public.archive)
