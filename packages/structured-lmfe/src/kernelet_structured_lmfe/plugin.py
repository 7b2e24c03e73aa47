"""Offers the grammar engine ``lmfe``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_grammar_engines() -> Sequence[GrammarEngineOffer]:
    return (
        GrammarEngineOffer(
            name="lmfe",
            target="kernelet_structured_lmfe.engine:LmfeEngine",
            priority=-20,
            summary="lm-format-enforcer: compiles at once, but its masks are slow",
        ),
    )
