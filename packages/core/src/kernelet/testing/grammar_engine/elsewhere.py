"""Compiling in a process of its own, as the engine does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import GrammarEngineOffer, GrammarRules
from kernelet.kernel.imports import import_string
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary
from kernelet.testing.interpreter import call_fresh
from kernelet.testing.offered import Offered


def compile_elsewhere(offered: Offered[GrammarEngineOffer], rules: GrammarRules) -> bytes:
    """What ``compile`` returns in a new process, for ``byte_vocabulary``.

    Raises:
        RuntimeError: it raised there.
    """
    settings = offered.settings
    encoded = msgspec.msgpack.encode(rules)
    name = f"{__name__}:{compile_here.__name__}"
    compiled: bytes = call_fresh(name, offered.offer.target, settings.plugin, dict(settings.values), encoded)
    return compiled


def compile_here(target: str, plugin: str, values: Mapping[str, Any], encoded: bytes) -> bytes:
    """What the other process does."""
    engine = import_string(target)(Settings(plugin=plugin, values=values), byte_vocabulary())
    compiled: bytes = engine.compile(msgspec.msgpack.decode(encoded, type=GrammarRules))
    return compiled
