"""Offers the parsers of ``--reasoning-parser``, under vLLM's names and some more."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.parsing import ReasoningParserOffer
from kernelet.hookspecs import hookimpl

_ASSISTANT = "<\uff5cAssistant\uff5c>"
_CHATML = "<|im_start|>"
_END = "</think>"


@hookimpl
def kernelet_reasoning_parsers() -> Sequence[ReasoningParserOffer]:
    return (
        *_offers(
            ("deepseek_r1", "deepseek-r1"),
            "families:deepseek_r1",
            "DeepSeek-R1 and its distillations",
            _ASSISTANT,
            f"{_ASSISTANT}<think>\\n",
            _END,
        ),
        *_offers(("deepseek_v3",), "families:deepseek_v3", "DeepSeek-V3.1, V3.2 and V4", _ASSISTANT, _END),
        *_offers(("qwen3",), "families:qwen3", "Qwen3, Qwen3.5, QwQ and others with their tags", _CHATML, _END),
        *_offers(("mistral",), "families:mistral", "Magistral, Ministral 3", "[THINK]", "[/THINK]"),
        *_offers(("granite",), "granite:granite", "Granite 3.2 and 3.3", "<|start_of_role|>", "<think></think>"),
        *_offers(("openai_gptoss", "gpt-oss"), "harmony:openai_gptoss", "gpt-oss", "<|channel|>analysis<|message|>"),
        *_offers(("glm45", "glm47", "glm-4.5"), "families:glm45", "GLM-4.5, 4.6 and 4.7", "[gMASK]<sop>", _END),
        *_offers(("kimi_k2", "kimi-k2"), "families:kimi_k2", "Kimi-K2-Thinking", "<|im_middle|>", _END),
        *_offers(("minimax_m2", "minimax-m2"), "families:minimax_m2", "MiniMax-M2", "]~b]ai", _END),
        *_offers(("olmo3",), "families:olmo3", "OLMo 3 Think", _CHATML, "<think>", "<functions>"),
        *_offers(("seed_oss", "seed-oss"), "families:seed_oss", "Seed-OSS", "<seed:think>"),
        *_offers(
            ("step3p5", "step3"), "families:step3", "Step-3.5-Flash, Step3", _CHATML, f"{_CHATML}tool_response\\n", _END
        ),
        *_offers(("hunyuan_a13b", "hunyuan"), "families:hunyuan_a13b", "Hunyuan-A13B", "<|extra_0|>", _END),
        *_offers(("hy_v3",), "families:hy_v3", "Hy3", "<think{}>", ":opensource"),
        *_offers(("ernie45", "ernie"), "families:ernie45", "ERNIE 4.5 Thinking"),
    )


def _offers(names: tuple[str, ...], target: str, models: str, *hints: str) -> tuple[ReasoningParserOffer, ...]:
    """One parser by its names, of which ``auto`` takes the first."""
    return tuple(
        ReasoningParserOffer(
            name=name,
            target=f"kernelet_parsers_reasoning.{target}",
            summary=f"Reasoning of {models}",
            chat_template_hints=() if number else hints,
        )
        for number, name in enumerate(names)
    )
