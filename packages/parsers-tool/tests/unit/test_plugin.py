from __future__ import annotations

from pkgutil import resolve_name

import chat_templates
import pytest
from chat_templates import own_template, template_names

from kernelet.contracts.parsing import ParserContext, ParserTable
from kernelet.text.parsing.table import CompiledTable
from kernelet_parsers_tool.plugin import kernelet_tool_parsers

VLLM = {
    "deepseek_v3", "deepseek_v31", "gemma4", "glm45", "glm47", "granite", "granite4", "hermes", "internlm", "jamba",
    "kimi_k2", "llama3_json", "llama4_json", "llama4_pythonic", "minimax_m2", "mistral", "olmo3", "openai",
    "phi4_mini_json", "pythonic", "qwen3_coder", "qwen3_xml", "step3p5", "xlam",
}  # fmt: skip

AUTO = {
    "glm45": ("GLM-4.6", "GLM-4.7-Flash", "Spark2.5", "inclusionai-ling-3.0-flash", "poolside-Laguna-S-2.1",
              "poolside-Laguna-XS-2.1", "poolside-Laguna-XS.2"),
    "gemma4": ("google-gemma-4-31B-it", "google-gemma-4-31B-it-interleaved"),
    "kimi_k2": ("Kimi-K2-Instruct", "Kimi-K2-Thinking", "moonshotai-Kimi-K2"),
    "hermes": ("MiMo-VL", "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "Qwen-QwQ-32B", "Qwen-Qwen2.5-7B-Instruct",
               "NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "Qwen-Qwen3-0.6B", "Reka-Edge",
               "ibm-granite-granite-4.0", "ibm-granite-granite-4.1"),
    "minimax_m2": ("MiniMax-M2",),
    "mistral": ("Mistral-Small-3.2-24B-Instruct-2506", "mistralai-Ministral-3-14B-Reasoning-2512",
                "mistralai-Mistral-Nemo-Instruct-2407", "unsloth-mistral-Devstral-Small-2507"),
    "qwen3_coder": ("Qwen3-Coder", "Qwen3.5-4B", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "StepFun3.5-Flash"),
    "deepseek_v3": ("deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
                    "llama-cpp-deepseek-r1"),
    "deepseek_v31": ("deepseek-ai-DeepSeek-V3.1",),
    "granite": ("ibm-granite-granite-3.3-2B-Instruct",),
    "llama3_json": ("meta-llama-Llama-3.1-8B-Instruct", "meta-llama-Llama-3.2-3B-Instruct",
                    "meta-llama-Llama-3.3-70B-Instruct"),
    "openai": ("openai-gpt-oss-120b",),
    "phi4_mini_json": ("fireworks-ai-llama-3-firefunction-v2",),
}  # fmt: skip
"""Which of the templates each parser is for; the others are for none."""


def test_names():
    names = [offer.name for offer in kernelet_tool_parsers()]
    assert len(names) == len(set(names))
    assert not VLLM - set(names)


@pytest.mark.parametrize("offer", kernelet_tool_parsers(), ids=lambda offer: offer.name)
def test_tables_can_run(offer):
    table = resolve_name(offer.target)(ParserContext())
    assert isinstance(table, ParserTable)
    for known in (False, True):
        CompiledTable(table, lambda _, known=known: known)
    assert offer.summary


def test_one_name_of_each_parser_has_hints_at_most():
    hinted = [offer.target for offer in kernelet_tool_parsers() if offer.chat_template_hints]
    assert len(hinted) == len(set(hinted))


def auto(source):
    """Names of the parsers that ``auto`` takes for a template."""
    offers = [offer for offer in kernelet_tool_parsers() if offer.chat_template_hints]
    fitting = [offer for offer in offers if all(hint in source for hint in offer.chat_template_hints)]
    most = max((len(offer.chat_template_hints) for offer in fitting), default=0)
    return [offer.name for offer in fitting if len(offer.chat_template_hints) == most]


@pytest.mark.long
def test_auto_takes_the_parser_of_each_template():
    found = {name.removesuffix(".jinja"): auto(chat_templates.template_source(name)) for name in template_names()}
    expected = {stem: [name] for name, stems in AUTO.items() for stem in stems}
    assert {stem: names for stem, names in found.items() if names} == expected


@pytest.mark.long
@pytest.mark.parametrize(
    "stem, names",
    [
        ("internlm2_tool", ["internlm"]),
        ("llama4_pythonic", ["llama4_pythonic"]),
        ("xlam_llama", ["xlam"]),
        ("xlam_qwen", ["xlam"]),
        ("granite", ["granite"]),
        ("hunyuan_a13b", []),
    ],
)
def test_auto_takes_the_parser_of_other_servers_templates(stem, names):
    source = chat_templates.template_source(f"tool_chat_template_{stem}.jinja", chat_templates.VLLM)
    assert auto(source) == names


@pytest.mark.long
def test_auto_takes_the_parser_of_jamba():
    assert auto(own_template("jamba_mini_1_7_chat_template.jinja", "r-rojo/rampipe on GitHub")) == ["jamba"]
