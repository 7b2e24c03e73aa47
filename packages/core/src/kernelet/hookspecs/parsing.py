"""Hooks that offer parsers of a model's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.parsing import ReasoningParserOffer, ToolParserOffer


@hookspec
def kernelet_tool_parsers() -> Sequence[ToolParserOffer]:
    """Offers parsers that find tool calls in a model's text.

    When: process start, while registries are filled.
    Process: frontend.
    Returns: offers; duplicates of a name are an error.
    Order: the operator's name selects, or ``auto`` the one with the most hints in the model's chat template; a name
        has one owner. Without a name none is used.
    Since: parsing 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_reasoning_parsers() -> Sequence[ReasoningParserOffer]:
    """Offers parsers that tell what a model thinks from what it answers.

    When: process start, while registries are filled.
    Process: frontend, engine.
    Returns: offers; duplicates of a name are an error.
    Order: the operator's name selects, or ``auto`` the one with the most hints in the model's chat template; a name
        has one owner. Without a name none is used.
    Since: parsing 1.0.
    """
    raise NotImplementedError
