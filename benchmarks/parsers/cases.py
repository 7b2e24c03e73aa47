"""Random answers of model families, as their chat templates write them, and random ways to cut them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import kernelet_parsers_reasoning.renders as thoughts
import kernelet_parsers_tool.templates as answers
from kernelet.request.message import ParsedMessage, ToolCall

THINK = ("<think>", "</think>")
TOOL = ("<tool_call>", "</tool_call>")
SECTION = tuple(
    f"<\uff5ctool\u2581{name}\uff5c>"
    for name in ("calls\u2581begin", "calls\u2581end", "call\u2581begin", "call\u2581end", "sep")
)
KIMI = tuple(
    f"<|tool_call{name}|>" for name in ("s_section_begin", "s_section_end", "_begin", "_argument_begin", "_end")
)
WORDS = ("so", "we", "Zürich", "3 < 4", "a, b", "雨", "first:", "[1]", "{x}", "then.", "\n\n", "it's")
VALUES = ("Zürich", "two words", 'say "hi"', "a\nb", "{}", "[", "x < y", "0", "", "naïve {café}", "\\n")

Render = Callable[[ParsedMessage, Sequence[object]], str]


class Family(NamedTuple):
    """One model family.

    Attributes:
        name: For people.
        ours: Names of our reasoning parser, empty for none, and of our tool parser.
        theirs: vLLM's.
        think: Writes reasoning; empty: the models do not think.
        call: Writes content and calls.
        tokens: Markers that are one token of the models' vocabulary.
        pieces: Further tokens without which vLLM's parser does not start.
        many: More than one call in an answer.
        around: Content beside calls.
    """

    name: str
    ours: tuple[str, str]
    theirs: tuple[str, str]
    think: str
    call: str
    tokens: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    many: bool = True
    around: bool = True


FAMILIES = (
    Family("Hermes, Qwen 2.5", ("", "hermes"), ("", "hermes"), "", "hermes", TOOL),
    Family("Qwen3", ("qwen3", "hermes"), ("qwen3", "hermes"), "qwen3", "hermes", (*THINK, *TOOL)),
    Family("Qwen3.5", ("qwen3", "qwen3_coder"), ("qwen3", "qwen3_coder"), "qwen3", "qwen3_coder", (*THINK, *TOOL)),
    Family("Qwen3-Coder", ("", "qwen3_coder"), ("", "qwen3_coder"), "", "qwen3_coder", TOOL),
    Family(
        "Llama 3",
        ("", "llama3_json"),
        ("", "llama3_json"),
        "",
        "llama3_json",
        (),
        ("<|python_tag|>",),
        many=False,
        around=False,
    ),
    Family("Llama 4", ("", "llama4_pythonic"), ("", "llama4_pythonic"), "", "pythonic", (), around=False),
    Family(
        "DeepSeek-R1",
        ("deepseek_r1", "deepseek_v3"),
        ("deepseek_r1", "deepseek_v3"),
        "qwen3",
        "deepseek_v3",
        (*THINK, *SECTION),
    ),
    Family(
        "DeepSeek-V3.1",
        ("deepseek_v3", "deepseek_v31"),
        ("deepseek_r1", "deepseek_v31"),
        "bare",
        "deepseek_v31",
        (*THINK, *SECTION),
    ),
    Family("Granite 3", ("", "granite"), ("", "granite"), "", "granite", ("<|tool_call|>",)),
    Family(
        "InternLM 2",
        ("", "internlm"),
        ("", "internlm"),
        "",
        "internlm",
        ("<|action_start|>", "<|action_end|>", "<|plugin|>"),
        many=False,
    ),
    Family("Phi-4-mini", ("", "phi4_mini_json"), ("", "phi4_mini_json"), "", "phi4_mini", (), around=False),
    Family("xLAM 2", ("", "xlam"), ("", "xlam"), "", "xlam", (), around=False),
    Family("Jamba 1.5", ("", "jamba"), ("", "jamba"), "", "jamba", ("<tool_calls>", "</tool_calls>")),
    Family("GLM-4.5, 4.6", ("glm45", "glm45"), ("glm45", "glm45"), "glm46", "glm45", (*THINK, *TOOL)),
    Family("GLM-4.7", ("glm47", "glm47"), ("glm47", "glm47"), "glm47", "glm47", (*THINK, *TOOL)),
    Family("Kimi K2", ("kimi_k2", "kimi_k2"), ("kimi_k2", "kimi_k2"), "bare", "kimi_k2", (*THINK, *KIMI)),
    Family(
        "MiniMax-M2",
        ("minimax_m2", "minimax_m2"),
        ("minimax_m2", "minimax_m2"),
        "minimax_m2",
        "minimax_m2",
        (*THINK, "<minimax:tool_call>", "</minimax:tool_call>"),
    ),
    Family("OLMo 3", ("olmo3", "olmo3"), ("olmo3", "olmo3"), "bare", "olmo3", (), ("</", "think", ">", "\u0120</")),
    Family("Step-3.5", ("step3p5", "step3p5"), ("step3p5", "step3p5"), "step3", "step3p5", (*THINK, *TOOL)),
)

TOOLS = [
    {
        "name": name,
        "description": "Does something.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "sure": {"type": "boolean"},
                "where": {"type": "object", "properties": {"at": {"type": "array", "items": {"type": "string"}}}},
            },
        },
    }
    for name in ("get_weather", "search", "now")
]


def make_answer(family: Family, seed: int) -> dict[str, Any]:
    """An answer's text and what it means."""
    draw = random.Random(f"{family.name} {seed}")
    reasoning = _words(draw) if family.think else ""
    num_calls = draw.choice((0, 1, 1, 2, 3)) if family.many else draw.choice((0, 1))
    content = _words(draw) if not num_calls or (family.around and draw.random() < 0.5) else ""
    calls = [_call(draw, number) for number in range(num_calls)]
    message = ParsedMessage(content=content, tool_calls=calls)
    write: Render = getattr(answers, family.call)
    think: Callable[[str, str], str] | None = getattr(thoughts, family.think) if family.think else None
    text = write(message, ()) if calls else content
    if think is not None:
        text = think(reasoning, "") + text if calls else think(reasoning, content)
    found = [[call.name, json.loads(call.arguments)] for call in calls]
    return {"text": text, "reasoning": reasoning, "content": content, "calls": found}


def _words(draw: random.Random) -> str:
    return " ".join(["So", *draw.choices(WORDS, k=draw.randint(1, 8)), "end."])


def _call(draw: random.Random, number: int) -> ToolCall:
    arguments: dict[str, Any] = {}
    if draw.random() < 0.9:
        arguments["city"] = draw.choice(VALUES)
    if draw.random() < 0.5:
        arguments["days"] = draw.randint(-3, 10**6)
    if draw.random() < 0.4:
        arguments["sure"] = draw.random() < 0.5
    if draw.random() < 0.4:
        arguments["where"] = {"at": draw.choices(VALUES, k=draw.randint(0, 2))}
    name = draw.choice([str(tool["name"]) for tool in TOOLS])
    return ToolCall(id=f"call_{number}", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
