"""Offers the grammar engine ``outlines``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_grammar_engines() -> Sequence[GrammarEngineOffer]:
    return (
        GrammarEngineOffer(
            name="outlines",
            target="kernelet_structured_outlines.engine:OutlinesEngine",
            priority=-10,
            recursion=False,
            max_repeat=1000,
            max_expressions=5000,
            summary="outlines-core: regular languages, every state's tokens looked up beforehand",
        ),
    )
