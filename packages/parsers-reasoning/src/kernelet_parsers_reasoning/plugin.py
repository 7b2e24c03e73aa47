"""Offers reasoning parsers by model family, under vLLM's names and some more."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.parsing import ReasoningParserOffer
from kernelet.hookspecs import hookimpl

FAMILIES = "kernelet_parsers_reasoning.families"


@hookimpl
def kernelet_reasoning_parsers() -> Sequence[ReasoningParserOffer]:
    return (
        *_offers(
            f"{FAMILIES}:deepseek_r1",
            "deepseek_r1",
            "deepseek-r1",
            hints=("<\uff5cAssistant\uff5c>", "<\uff5cAssistant\uff5c><think>\\n", "</think>"),
        ),
        *_offers(f"{FAMILIES}:deepseek_v3", "deepseek_v3", hints=("<\uff5cAssistant\uff5c>", "</think>")),
        *_offers(f"{FAMILIES}:qwen3", "qwen3", hints=("<|im_start|>", "</think>")),
        *_offers(f"{FAMILIES}:mistral", "mistral", hints=("[THINK]", "[/THINK]")),
        *_offers(
            "kernelet_parsers_reasoning.granite:granite", "granite", hints=("<|start_of_role|>", "<think></think>")
        ),
        *_offers(
            "kernelet_parsers_reasoning.harmony:openai_gptoss",
            "openai_gptoss",
            "gpt-oss",
            hints=("<|channel|>analysis<|message|>",),
        ),
        *_offers(f"{FAMILIES}:glm45", "glm45", "glm47", "glm-4.5", hints=("[gMASK]<sop>", "</think>")),
        *_offers(f"{FAMILIES}:kimi_k2", "kimi_k2", "kimi-k2", hints=("<|im_middle|>", "</think>")),
        *_offers(f"{FAMILIES}:minimax_m2", "minimax_m2", "minimax-m2", hints=("]~b]ai", "</think>")),
        *_offers(f"{FAMILIES}:olmo3", "olmo3", hints=("<|im_start|>", "<think>", "<functions>")),
        *_offers(f"{FAMILIES}:seed_oss", "seed_oss", "seed-oss", hints=("<seed:think>",)),
        *_offers(
            f"{FAMILIES}:step3", "step3p5", "step3", hints=("<|im_start|>", "<|im_start|>tool_response\\n", "</think>")
        ),
        *_offers(f"{FAMILIES}:hunyuan_a13b", "hunyuan_a13b", "hunyuan", hints=("<|extra_0|>", "</think>")),
        *_offers(f"{FAMILIES}:hy_v3", "hy_v3", hints=("<think{}>", ":opensource")),
        *_offers(f"{FAMILIES}:ernie45", "ernie45", "ernie"),
    )


def _offers(target: str, name: str, *others: str, hints: tuple[str, ...] = ()) -> tuple[ReasoningParserOffer, ...]:
    """A parser under its name and others; ``auto`` knows it by the first."""
    same = (ReasoningParserOffer(name=other, target=target) for other in others)
    return (ReasoningParserOffer(name=name, target=target, chat_template_hints=hints), *same)
