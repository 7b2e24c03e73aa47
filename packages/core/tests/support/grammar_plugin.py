"""Grammar engines that fail in every way, beside one that works; imported by the helpers' processes too."""

from __future__ import annotations

import os
import time

from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.hookspecs import hookimpl
from kernelet.testing.grammar_engine.reference import ReferenceEngine


class Counted(ReferenceEngine):
    """Says in what it compiles how often it was made and used in its process."""

    made = 0

    def __init__(self, settings, vocabulary):
        super().__init__(settings, vocabulary)
        self.uses = 0
        Counted.made += 1

    def compile(self, rules):
        self.uses += 1
        return repr((os.getpid(), Counted.made, self.uses, len(self.vocabulary.token_bytes))).encode()

    def load(self, compiled):
        return compiled


class Slow(ReferenceEngine):
    def compile(self, rules):
        time.sleep(600)
        return b""


class Hungry(ReferenceEngine):
    def compile(self, rules):
        kept = []
        while True:
            kept.append(bytearray(1 << 20))


class Crashing(ReferenceEngine):
    def compile(self, rules):
        os._exit(3)


class Refusing(ReferenceEngine):
    def compile(self, rules):
        raise ValueError("rules with an x in their name are too much")


class Raising(ReferenceEngine):
    def compile(self, rules):
        raise RuntimeError("/a/path/on/the/machine")


class NotLoading(ReferenceEngine):
    def load(self, compiled):
        raise RuntimeError("/a/path/on/the/machine")


class NotMade(ReferenceEngine):
    def __init__(self, settings, vocabulary):
        raise RuntimeError("/a/path/on/the/machine")


ENGINES = (Counted, Slow, Hungry, Crashing, Refusing, Raising, NotLoading, NotMade)


class GrammarPlugin:
    """Offers them all, and the reference engine twice: with everything, and without recursion."""

    name = "test-grammars"

    @hookimpl
    def kernelet_grammar_engines(self):
        broken = [
            GrammarEngineOffer(name=one.__name__.lower(), target=f"grammar_plugin:{one.__name__}") for one in ENGINES
        ]
        good = GrammarEngineOffer(name="good", target="grammar_plugin:ReferenceEngine", priority=5)
        flat = GrammarEngineOffer(
            name="flat", target="grammar_plugin:ReferenceEngine", priority=10, recursion=False, max_repeat=20
        )
        return (good, flat, *broken)


PLUGIN = GrammarPlugin()
