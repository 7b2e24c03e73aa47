"""Families that think between tags: a table each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.contracts.parsing import WHITESPACE
from kernelet_parsers_reasoning.tags import tagged

if TYPE_CHECKING:
    from kernelet.contracts.parsing import ParserContext, ParserTable


def deepseek_r1(context: ParserContext) -> ParserTable:
    """The template opens reasoning."""
    return tagged(context)


def deepseek_v3(context: ParserContext) -> ParserTable:
    """The template opens reasoning, if it is asked to, and closes it else."""
    return tagged(context, around="")


def qwen3(context: ParserContext) -> ParserTable:
    """The model opens reasoning, in later releases the template."""
    return tagged(context)


def mistral(context: ParserContext) -> ParserTable:
    """The model opens reasoning, before or between pieces of content."""
    return tagged(context, "[THINK]", "[/THINK]", around="", anywhere=True)


def glm45(context: ParserContext) -> ParserTable:
    """The model opens reasoning on a line of its own, in later releases the template."""
    return tagged(context, around=WHITESPACE)


def kimi_k2(context: ParserContext) -> ParserTable:
    """The model opens reasoning; nothing stands around the tags."""
    return tagged(context, around="")


def minimax_m2(context: ParserContext) -> ParserTable:
    """The template opens reasoning."""
    return tagged(context)


def olmo3(context: ParserContext) -> ParserTable:
    """The template opens reasoning; the tags are no tokens of the vocabulary."""
    return tagged(context)


def seed_oss(context: ParserContext) -> ParserTable:
    """The model opens reasoning."""
    return tagged(context, "<seed:think>", "</seed:think>", around=WHITESPACE)


def step3(context: ParserContext) -> ParserTable:
    """The template opens reasoning."""
    return tagged(context)


def hunyuan_a13b(context: ParserContext) -> ParserTable:
    """The model opens reasoning; the answer has a tag of its own. None of the tags is a token of the vocabulary."""
    return tagged(context, answer="answer")


def hy_v3(context: ParserContext) -> ParserTable:
    """The template opens reasoning, if it is asked to, and closes it else; the tags name the release."""
    return tagged(context, "<think:opensource>", "</think:opensource>", around="")


def ernie45(context: ParserContext) -> ParserTable:
    """The template opens reasoning; the answer may have a tag of its own."""
    return tagged(context, answer="response")
