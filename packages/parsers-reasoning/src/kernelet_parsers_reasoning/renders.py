"""What models generate, as their own chat templates write it: from the opening tag to the end of content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Render = Callable[[str, str], str]
"""Reasoning and content to text."""


def qwen3(reasoning: str, content: str) -> str:
    """Qwen3, Qwen3.5."""
    return f"<think>\n{reasoning}\n</think>\n\n{content}"


def step3(reasoning: str, content: str) -> str:
    """Step-3.5-Flash."""
    return f"<think>\n{reasoning}\n</think>\n{content}"


def minimax_m2(reasoning: str, content: str) -> str:
    """MiniMax-M2."""
    return f"<think>\n{reasoning}\n</think>\n\n{content}" if reasoning else content


def glm46(reasoning: str, content: str) -> str:
    """GLM-4.5, GLM-4.6."""
    return f"\n<think>{reasoning}</think>" + (f"\n{content}" if content else "")


def glm47(reasoning: str, content: str) -> str:
    """GLM-4.7."""
    return f"<think>{reasoning}</think>{content}" if reasoning else f"</think>{content}"


def bare(reasoning: str, content: str) -> str:
    """Kimi-K2-Thinking, DeepSeek-V3.1 and later, OLMo 3: nothing stands around the tags."""
    return f"<think>{reasoning}</think>{content}"


def hy_v3(reasoning: str, content: str) -> str:
    """Hy3."""
    return f"<think:opensource>{reasoning}</think:opensource>{content}"


def seed_oss(reasoning: str, content: str) -> str:
    """Seed-OSS, behind the line's end that the prompt has already."""
    return f"<seed:think>{reasoning}</seed:think>" + (f"\n{content}" if content else "") if reasoning else content


def mistral(reasoning: str, content: str) -> str:
    """Magistral, Ministral 3."""
    return (f"[THINK]{reasoning}[/THINK]" if reasoning else "") + content


def granite(reasoning: str, content: str) -> str:
    """Granite 3.3."""
    return f"<think>{reasoning}</think>\n<response>{content}</response>"


def granite_spoken(reasoning: str, content: str) -> str:
    """Granite 3.2."""
    return f"Here is my thought process:\n{reasoning}\n\nHere is my response:\n{content}" if reasoning else content


def hunyuan(reasoning: str, content: str) -> str:
    """Hunyuan-A13B."""
    return f"<think>\n{reasoning}\n</think>\n<answer>\n{content}\n</answer>"


def ernie(reasoning: str, content: str) -> str:
    """ERNIE 4.5 Thinking."""
    return f"<think>\n{reasoning}\n</think>\n\n<response>\n{content}\n</response>\n"


def harmony(reasoning: str, content: str) -> str:
    """gpt-oss, behind ``<|start|>assistant``."""
    thought = f"<|channel|>analysis<|message|>{reasoning}<|end|><|start|>assistant" if reasoning else ""
    return thought + (f"<|channel|>final<|message|>{content}" if content or not reasoning else "")


RENDERS: Final[tuple[tuple[str, Render], ...]] = (
    ("deepseek_r1", qwen3),
    ("deepseek_v3", bare),
    ("qwen3", qwen3),
    ("mistral", mistral),
    ("granite", granite),
    ("openai_gptoss", harmony),
    ("glm45", glm46),
    ("glm47", glm47),
    ("kimi_k2", bare),
    ("minimax_m2", minimax_m2),
    ("olmo3", bare),
    ("seed_oss", seed_oss),
    ("step3p5", step3),
    ("hunyuan_a13b", hunyuan),
    ("hy_v3", hy_v3),
    ("ernie45", ernie),
)
"""By the name of the parser."""
