"""What we say that models generate is what their own chat templates write, and parsers read it."""

from __future__ import annotations

import random
from datetime import datetime
from pkgutil import resolve_name
from typing import Any

import pytest
from chat_templates import render_template, template_source

from kernelet.contracts.parsing import REASONING, ParserContext, ParserTable
from kernelet.testing.parsing.feed import Feed
from kernelet.text.jinja_environment import make_environment
from kernelet_parsers_reasoning import renders
from kernelet_parsers_reasoning.plugin import kernelet_reasoning_parsers

pytestmark = pytest.mark.long

WORDS = ["step one,", "überlegen", "雨 🙂", "1 < 2", "a\n\nb", "{x}", '"q"', "\\n", "end."]
USER = {"role": "user", "content": "Hi"}
CALLS = [{"type": "function", "function": {"name": "f", "arguments": {}}}]
TOOL = {"type": "function", "function": {"name": "f", "description": "", "parameters": {"properties": {}}}}
DEEPSEEK = ("<\uff5cAssistant\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>")
CHATML = ("<|im_start|>assistant\n", "<|im_end|>\n")

NO_TEMPLATE_MAY = "{%- set _ = tool_response_queue.ids.append(formatted_id) -%}"
"""Changes a list, which the sandbox of `transformers` refuses."""


def texts() -> list[tuple[str, str]]:
    """Reasoning and content; without whitespace at their ends, which most templates strip."""
    draw = random.Random(3)
    some = [" ".join(draw.choices(WORDS, k=draw.randint(1, 6))) for _ in range(20)]
    return [*zip(some[::2], some[1::2], strict=True)]


def answer(file_name: str, reasoning: str | None, content: str, **message: Any) -> str:
    """What a template writes behind the user's message."""
    source = template_source(file_name).replace(NO_TEMPLATE_MAY, "")
    kwargs = {"thinking": True} if "DeepSeek-V" in file_name else {}
    prompt = render_template(source, [USER], None, **kwargs)
    said = {"role": "assistant", "content": content, "reasoning_content": reasoning, "thinking": reasoning, **message}
    whole = render_template(source, [USER, said], None, **kwargs)
    assert whole.startswith(prompt)
    return whole.removeprefix(prompt)


@pytest.mark.parametrize(
    "name, file_name, around",
    [
        ("qwen3", "Qwen-Qwen3-0.6B.jinja", CHATML),
        ("qwen3", "Qwen3.5-4B.jinja", CHATML),
        ("step3", "StepFun3.5-Flash.jinja", CHATML),
        ("minimax_m2", "MiniMax-M2.jinja", ("]~b]ai\n", "[e~[\n")),
        ("glm46", "GLM-4.6.jinja", ("<|assistant|>", "")),
        ("glm47", "GLM-4.7-Flash.jinja", ("<|assistant|>", "")),
        ("bare", "deepseek-ai-DeepSeek-V3.2.jinja", DEEPSEEK),
        ("bare", "deepseek-ai-DeepSeek-V4.jinja", DEEPSEEK),
        ("seed_oss", "ByteDance-Seed-OSS.jinja", ("<seed:bos>assistant\n", "<seed:eos>")),
        ("hy_v3", "tencent-Hy3.jinja", ("<\uff5chy_Assistant:opensource\uff5c>", "")),
        ("harmony", "openai-gpt-oss-120b.jinja", ("<|start|>assistant", "<|return|>")),
    ],
)
def test_reasoning_and_content(name: str, file_name: str, around: tuple[str, str]):
    begin, end = around
    for reasoning, content in texts():
        expected = begin + getattr(renders, name)(reasoning, content) + end
        assert answer(file_name, reasoning, content) == expected


def test_kimi_keeps_reasoning_before_calls():
    begin = "<|im_assistant|>assistant<|im_middle|>"
    for reasoning, content in texts():
        found = answer("Kimi-K2-Thinking.jinja", reasoning, content, tool_calls=CALLS)
        assert found.partition("<|tool_calls_section_begin|>")[0] == begin + renders.bare(reasoning, content)


def test_mistral_writes_chunks():
    template = make_environment(datetime.now).from_string(
        template_source("mistralai-Ministral-3-14B-Reasoning-2512.jinja")
    )
    for reasoning, content in texts():
        chunks = [{"type": "thinking", "thinking": reasoning}, {"type": "text", "text": content}]
        found = template.render(messages=[USER, {"role": "assistant", "content": chunks}], bos_token="", eos_token="")
        assert found.endswith("[/INST]" + renders.mistral(reasoning, content))


@pytest.mark.parametrize(
    "name, file_name",
    [
        ("qwen3", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja"),
        ("qwen3", "llama-cpp-deepseek-r1.jinja"),
        ("bare", "deepseek-ai-DeepSeek-V3.1.jinja"),
    ],
)
def test_templates_that_cut_reasoning_off(name: str, file_name: str):
    """They find it by the closing tag, as we write it."""
    for reasoning, content in texts():
        text = getattr(renders, name)(reasoning, content)
        assert answer(file_name, None, text) == answer(file_name, None, text.partition("</think>")[2])


def test_granite_asks_for_tags():
    source = template_source("ibm-granite-granite-3.3-2B-Instruct.jinja")
    prompt = render_template(source, [USER], None, thinking=True)
    assert "thoughts between <think></think>" in prompt
    assert "response between <response></response>" in prompt
    assert "<think>" not in render_template(source, [USER], None)


def table_of(name: str, prompt: str, **kwargs: Any) -> ParserTable:
    target = next(offer.target for offer in kernelet_reasoning_parsers() if offer.name == name)
    table: ParserTable = resolve_name(target)(ParserContext(prompt=prompt, template_kwargs=kwargs))
    return table


@pytest.mark.parametrize(
    "name, file_name, kwargs, opened",
    [
        ("qwen3", "Qwen-Qwen3-0.6B.jinja", {}, False),
        ("qwen3", "Qwen-Qwen3-0.6B.jinja", {"enable_thinking": False}, False),
        ("qwen3", "Qwen3.5-4B.jinja", {"enable_thinking": True}, True),
        ("qwen3", "Qwen3.5-4B.jinja", {"enable_thinking": False}, False),
        ("qwen3", "Qwen-QwQ-32B.jinja", {"enable_thinking": True}, True),
        ("deepseek_r1", "llama-cpp-deepseek-r1.jinja", {}, True),
        ("deepseek_r1", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja", {"enable_thinking": True}, True),
        ("deepseek_r1", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja", {"enable_thinking": False}, False),
        ("deepseek_v3", "deepseek-ai-DeepSeek-V3.1.jinja", {"thinking": True}, True),
        ("deepseek_v3", "deepseek-ai-DeepSeek-V3.1.jinja", {"thinking": False}, False),
        ("deepseek_v3", "deepseek-ai-DeepSeek-V3.2.jinja", {"thinking": True}, True),
        ("deepseek_v3", "deepseek-ai-DeepSeek-V4.jinja", {"thinking": False}, False),
        ("mistral", "mistralai-Ministral-3-14B-Reasoning-2512.jinja", {}, False),
        ("granite", "ibm-granite-granite-3.3-2B-Instruct.jinja", {"thinking": True}, False),
        ("openai_gptoss", "openai-gpt-oss-120b.jinja", {"reasoning_effort": "low"}, False),
        ("glm45", "GLM-4.6.jinja", {}, False),
        ("glm45", "GLM-4.6.jinja", {"enable_thinking": False}, False),
        ("glm47", "GLM-4.7-Flash.jinja", {}, True),
        ("glm47", "GLM-4.7-Flash.jinja", {"enable_thinking": False}, False),
        ("kimi_k2", "Kimi-K2-Thinking.jinja", {}, False),
        ("minimax_m2", "MiniMax-M2.jinja", {}, True),
        ("seed_oss", "ByteDance-Seed-OSS.jinja", {}, False),
        ("seed_oss", "ByteDance-Seed-OSS.jinja", {"thinking_budget": 0}, False),
        ("step3p5", "StepFun3.5-Flash.jinja", {}, True),
        ("hy_v3", "tencent-Hy3.jinja", {"reasoning_effort": "high"}, True),
        ("hy_v3", "tencent-Hy3.jinja", {}, False),
    ],
)
def test_prompts_open_reasoning(name: str, file_name: str, kwargs: dict[str, Any], opened: bool):
    """Also where a user writes the tag."""
    user = {"role": "user", "content": "What does <think> mean?\n<think>"}
    prompt = render_template(template_source(file_name), [user], None, add_generation_prompt=True, **kwargs)
    assert (table_of(name, prompt, **kwargs).start == REASONING) is opened


@pytest.mark.parametrize(
    "file_name",
    [
        "Bielik-11B-v3.0-Instruct.jinja",
        "LFM2.5-8B-A1B.jinja",
        "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja",
        "openbmb-MiniCPM5-1B.jinja",
    ],
)
def test_qwen3_reads_other_models_that_auto_gives_it(file_name: str):
    begin, end = CHATML
    for reasoning, content in texts():
        text = answer(file_name, reasoning, content).removeprefix(begin).removesuffix(end)
        found = Feed(table_of("qwen3", begin)).parse(text)
        assert (found.reasoning, found.content) == (reasoning, content)
