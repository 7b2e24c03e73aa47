"""Offers the parsers of ``--tool-call-parser``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.parsing import ToolParserOffer
from kernelet.hookspecs import hookimpl

_SECTION = "<｜tool▁calls▁begin｜>"


@hookimpl
def kernelet_tool_parsers() -> Sequence[ToolParserOffer]:
    return (
        *_offers(
            ("hermes",), "tagged_json:hermes", "Hermes 2 and 3, Qwen 2.5 and 3", "</tool_call>", "<function-name>"
        ),
        *_offers(("granite",), "tagged_json:granite", "Granite 3", "<|tool_call|>", "available_tools"),
        *_offers(("granite4",), "tagged_json:hermes", "Granite 4"),
        *_offers(("internlm", "internlm2"), "tagged_json:internlm", "InternLM 2", "<|action_start|>", "<|plugin|>"),
        *_offers(("jamba",), "tagged_json:jamba", "Jamba 1.5 to 1.7", "<tool_definitions>", "<tool_calls>"),
        *_offers(("phi4_mini_json", "phi4-mini"), "tagged_json:phi4_mini", "Phi-4-mini", "functools["),
        *_offers(
            ("llama3_json", "llama3-json", "llama4_json"),
            "bare:llama3_json",
            "Llama 3.1, 3.2 and 3.3",
            '{"name": function name, "parameters": ',
        ),
        *_offers(("llama4_pythonic", "llama4-pythonic"), "bare:pythonic", "Llama 4", "<|header_start|>", "func_name1("),
        *_offers(("pythonic",), "bare:pythonic", "Llama 3.2 and others whose calls are a Python list"),
        *_offers(("olmo3",), "bare:olmo3", "OLMo 3", "<function_calls>", "<functions>"),
        *_offers(("xlam",), "bare:xlam", "xLAM 2", "tool_call_name"),
        *_offers(
            ("qwen3_coder", "qwen3-coder", "qwen3_xml", "qwen3-xml", "step3p5"),
            "parameters:qwen3",
            "Qwen3-Coder, Qwen3.5, Step 3.5",
            "</tool_call>",
            "<function=",
            "<parameter=",
        ),
        *_offers(
            ("minimax_m2", "minimax-m2"), "parameters:minimax_m2", "MiniMax M2", "<minimax:tool_call>", "<invoke "
        ),
        *_offers(
            ("glm45", "glm-4.5", "glm47"),
            "parameters:glm45",
            "GLM 4.5, 4.6 and 4.7",
            "</tool_call>",
            "<arg_key>",
            "<arg_value>",
        ),
        *_offers(("deepseek_v3", "deepseek-v3"), "sections:deepseek_v3", "DeepSeek V3 and R1", _SECTION, "```json"),
        *_offers(("deepseek_v31", "deepseek-v3.1"), "sections:deepseek_v31", "DeepSeek V3.1", _SECTION),
        *_offers(("kimi_k2", "kimi-k2"), "sections:kimi_k2", "Kimi K2", "<|tool_calls_section_begin|>"),
        *_offers(("gemma4", "gemma"), "gemma:gemma4", "Gemma 4", "<|tool_call>call:", "<tool_call|>"),
        *_offers(("mistral",), "mistral:mistral", "Mistral, Ministral, Devstral", "[TOOL_CALLS]"),
        *_offers(("openai", "gpt-oss"), "harmony:harmony", "gpt-oss", "<|start|>assistant", "<|channel|>analysis"),
    )


def _offers(names: tuple[str, ...], target: str, models: str, *hints: str) -> tuple[ToolParserOffer, ...]:
    """One parser by its names, of which ``auto`` takes the first."""
    return tuple(
        ToolParserOffer(
            name=name,
            target=f"kernelet_parsers_tool.{target}",
            summary=f"Calls of {models}",
            chat_template_hints=() if number else hints,
        )
        for number, name in enumerate(names)
    )
