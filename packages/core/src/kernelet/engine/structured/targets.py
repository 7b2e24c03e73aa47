"""What helpers of the sandbox do for grammars: make an engine once, then compile with it."""

from __future__ import annotations

from typing import Final

import msgspec

from kernelet.contracts.plugins import PluginView
from kernelet.contracts.structured import GrammarEngine, GrammarEngineOffer, TokenVocabulary
from kernelet.engine.sandbox.messages import Setup
from kernelet.structured import rules

MAKE: Final = "kernelet.engine.structured.targets:engine_of"
COMPILE: Final = "kernelet.engine.structured.targets:compile_rules"


class EngineOfVocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """Which engine a helper makes."""

    name: str
    token_bytes: tuple[bytes, ...]
    stop_token_ids: tuple[int, ...]
    digest: str


def setup_of(name: str, vocabulary: TokenVocabulary) -> Setup:
    """The setup that makes an engine."""
    payload = EngineOfVocabulary(
        name=name,
        token_bytes=vocabulary.token_bytes,
        stop_token_ids=vocabulary.stop_token_ids,
        digest=vocabulary.digest,
    )
    return Setup(target=MAKE, payload=msgspec.msgpack.encode(payload), key=f"{name} {vocabulary.digest}")


def engine_of(payload: bytes, plugins: PluginView) -> GrammarEngine:
    """The engine of a setup."""
    wanted = msgspec.msgpack.decode(payload, type=EngineOfVocabulary)
    vocabulary = TokenVocabulary(
        token_bytes=wanted.token_bytes, stop_token_ids=wanted.stop_token_ids, digest=wanted.digest
    )
    return make_engine(plugins, wanted.name, vocabulary)


def make_engine(plugins: PluginView, name: str, vocabulary: TokenVocabulary) -> GrammarEngine:
    """An engine by its name.

    Raises:
        PluginError: it cannot be imported.
    """
    owned = plugins.select(GrammarEngineOffer, name).chosen
    engine: GrammarEngine = plugins.load(owned)(plugins.settings(owned.plugin), vocabulary)
    return engine


def compile_rules(payload: bytes, engine: GrammarEngine) -> bytes:
    """Encoded rules to what the engine loads."""
    return engine.compile(rules.decode(payload))
