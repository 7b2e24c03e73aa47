"""Offers the grammar engine ``xgrammar``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_grammar_engines() -> Sequence[GrammarEngineOffer]:
    return (
        GrammarEngineOffer(
            name="xgrammar",
            target="kernelet_structured_xgrammar.engine:XGrammarEngine",
            summary="xgrammar: masks that are computed when a grammar is compiled",
        ),
    )
