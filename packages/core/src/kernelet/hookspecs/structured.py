"""Hooks that offer grammar engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.structured import GrammarEngineOffer


@hookspec
def kernelet_grammar_engines() -> Sequence[GrammarEngineOffer]:
    """Offers engines that hold answers to a grammar.

    When: process start, while registries are filled.
    Process: frontend, engine, helper.
    Returns: offers; duplicates of a name are an error.
    Order: one a request: the operator's or the request's name selects, or ``auto`` the one with the highest priority
        among those that enforce all of the request's constraint.
    Since: structured 1.0.
    """
    raise NotImplementedError
