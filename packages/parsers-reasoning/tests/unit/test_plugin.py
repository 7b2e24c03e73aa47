from __future__ import annotations

from pkgutil import resolve_name

import pytest
from chat_templates import template_names, template_source

from kernelet.contracts.parsing import ParserContext, ParserTable
from kernelet_parsers_reasoning.plugin import kernelet_reasoning_parsers

OFFERS = kernelet_reasoning_parsers()

AUTO = {
    "Bielik-11B-v3.0-Instruct": "qwen3",
    "ByteDance-Seed-OSS": "seed_oss",
    "GLM-4.6": "glm45",
    "GLM-4.7-Flash": "glm45",
    "HuggingFaceTB-SmolLM3-3B": "qwen3",
    "Kimi-K2-Thinking": "kimi_k2",
    "LFM2.5-8B-A1B": "qwen3",
    "LFM2.5-Instruct": "qwen3",
    "MiniMax-M2": "minimax_m2",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "qwen3",
    "Qwen-QwQ-32B": "qwen3",
    "Qwen-Qwen3-0.6B": "qwen3",
    "Qwen3.5-4B": "qwen3",
    "StepFun3.5-Flash": "step3p5",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek_r1",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "deepseek_r1",
    "deepseek-ai-DeepSeek-V3.1": "deepseek_v3",
    "deepseek-ai-DeepSeek-V3.2": "deepseek_v3",
    "deepseek-ai-DeepSeek-V4": "deepseek_v3",
    "deepseek-ai-DeepSeek-V4-Flash-0731": "deepseek_v3",
    "ibm-granite-granite-3.3-2B-Instruct": "granite",
    "llama-cpp-deepseek-r1": "deepseek_r1",
    "mistralai-Ministral-3-14B-Reasoning-2512": "mistral",
    "openai-gpt-oss-120b": "openai_gptoss",
    "openbmb-MiniCPM5-1B": "qwen3",
    "tencent-Hy3": "hy_v3",
}
"""What ``auto`` takes, of all templates that llama.cpp keeps."""


def test_names_are_vllms_and_those_of_the_families():
    names = [offer.name for offer in OFFERS]
    assert len(set(names)) == len(names)
    assert {
        *("deepseek_r1", "deepseek_v3", "qwen3", "mistral", "granite", "openai_gptoss", "glm45", "glm47", "kimi_k2"),
        *("minimax_m2", "olmo3", "seed_oss", "step3", "step3p5", "hunyuan_a13b", "hy_v3", "ernie45"),
        *("deepseek-r1", "gpt-oss", "glm-4.5", "kimi-k2", "minimax-m2", "seed-oss", "hunyuan", "ernie"),
    } == set(names)


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.name)
def test_targets_make_tables(offer):
    assert isinstance(resolve_name(offer.target)(ParserContext()), ParserTable)


@pytest.mark.long
def test_auto_takes_the_right_parser_for_each_template():
    found = {}
    for file_name in template_names():
        source = template_source(file_name)
        known = [offer for offer in OFFERS if offer.chat_template_hints]
        fits = [offer for offer in known if all(hint in source for hint in offer.chat_template_hints)]
        most = max((len(offer.chat_template_hints) for offer in fits), default=0)
        best = [offer.name for offer in fits if len(offer.chat_template_hints) == most]
        if best:
            assert len(best) == 1, f"{file_name}: {best}"
            found[file_name.removesuffix(".jinja")] = best[0]
    assert found == AUTO
