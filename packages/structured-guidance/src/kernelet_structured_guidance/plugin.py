"""Offers the grammar engine ``guidance``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_grammar_engines() -> Sequence[GrammarEngineOffer]:
    return (
        GrammarEngineOffer(
            name="guidance",
            target="kernelet_structured_guidance.engine:GuidanceEngine",
            priority=10,
            summary="llguidance: masks that are computed step by step; compiles at once",
        ),
    )
