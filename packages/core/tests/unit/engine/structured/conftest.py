"""Grammars for engine cores on the null worker, compiled by the reference engine without a process."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.config.structured import StructuredConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Text, Union
from kernelet.engine.structured.forced import ForcedText
from kernelet.engine.structured.grammars import Grammars
from kernelet.errors import SandboxError, SandboxTimeoutError
from kernelet.request.structured import RulesState, StructuredRequest
from kernelet.structured import rules as over
from kernelet.testing.grammar_engine.reference import ReferenceEngine
from kernelet.testing.null.harness import null_core, null_engine_config, null_request
from kernelet.text.vocabulary import vocabulary_of

EOS = 257


class Helper:
    """A process that can be killed."""

    def __init__(self):
        self.killed = threading.Event()

    def kill(self):
        self.killed.set()


class Compiler:
    """A compiler that can be held, and counts."""

    def __init__(self):
        self.vocabulary = vocabulary_of([*(bytes([value]) for value in range(256)), *([b""] * 4)], (EOS,))
        self.engine = ReferenceEngine(Settings(plugin="reference"), self.vocabulary)
        self.compiled, self.closed = [], 0
        self.errors, self.stuck, self.ends = {}, threading.Event(), threading.Event()
        self.seconds = []
        self.gate = threading.Event()
        self.gate.set()

    def compile(self, name, rules, stop=None, seconds=None):
        assert self.gate.wait(60)
        self.compiled.append((name, rules))
        self.seconds.append(seconds)
        if name in self.errors:
            raise self.errors[name]
        if name == "late":
            while stop.watch.may_go_on():
                if self.ends.wait(0.01):
                    raise SandboxTimeoutError("late took longer than it may")
            raise SandboxError("others wait")
        if name == "stuck":
            helper = Helper()
            assert stop.holds(helper)
            self.stuck.set()
            assert helper.killed.wait(60)
            raise SandboxError("it was stopped")
        if name == "broken":
            raise RuntimeError("with a secret of the engine")
        return self.engine.load(self.engine.compile(over.decode(rules)))

    def close(self):
        self.closed += 1
        self.gate.set()
        self.ends.set()


@pytest.fixture
def compiler():
    return Compiler()


@pytest.fixture
def make_grammars(compiler):
    made = []

    def make(**config):
        forced = ForcedText(lambda: compiler.vocabulary, lambda text: list(text.encode()))
        made.append(Grammars(compiler, StructuredConfig(**config), forced=forced))
        return made[-1]

    yield make
    compiler.gate.set()
    for one in made:
        one.close()


def held_to(expression, engine="reference", others=()):
    """A request's constraint, from an expression over characters."""
    rules = GrammarRules({"root": expression})
    state = RulesState(rules=over.encode(rules), digest=over.digest(rules))
    return StructuredRequest(engine=engine, states=(state,), others=others)


YES_OR_NO = Union((Text("yes"), Text("no")))
DIGITS = Repeat(Chars(((48, 57),)), 1, None)
THREE = Concat((Repeat(Chars(((97, 99),)), 3, 3), Text("x")))


@pytest.fixture(scope="session")
def kernel():
    """The plugins of a process with engines that work and engines that do not."""
    from kernelet.config import PluginsConfig
    from kernelet.kernel import Kernel

    return Kernel.boot(PluginsConfig(allow=("core",)), plugins=["grammar_plugin:PLUGIN"])


@pytest.fixture(scope="session")
def sandbox(kernel):
    """Helpers that load the plugins; shared, since whatever one test did the next one is served."""
    from functools import partial

    from kernelet.engine.bootstrap import helper_plugins
    from kernelet.engine.sandbox.pool import Sandbox

    sandbox = Sandbox(num_helpers=1, memory_bytes=64 << 20, plugins=partial(helper_plugins, kernel))
    yield sandbox
    sandbox.close()


class World:
    """An engine core on the null worker, and everything that came of its requests."""

    def __init__(self, grammars, structured, depth=1, num_blocks=101, context=256, budget=64):
        self.grammars = grammars
        config = null_engine_config(
            max_model_len=context,
            cache=CacheConfig(block_size=4, num_blocks=num_blocks),
            scheduler=SchedulerConfig(depth=depth, max_num_seqs=64, max_num_batched_tokens=budget),
        )
        config = replace(config, structured=structured)
        self.core, self.executor = null_core(config, grammars=grammars)
        self.woken = threading.Event()
        self.core.on_news(self.woken.set)
        self.tokens, self.ends = {}, {}

    def add(self, name, expression=None, stops=(EOS,), engine="reference", others=(), **fields):
        structured = None if expression is None else held_to(expression, engine, others)
        fields = {"prompt": [1] * 5, "max_tokens": 12, "stop_token_ids": stops, **fields}
        self.core.add_request(null_request(name, structured=structured, **fields))

    def step(self):
        outputs = self.core.step()
        for output in outputs:
            self.tokens.setdefault(output.request_id, []).extend(output.token_ids)
            if output.finish_reason is not None:
                self.ends[output.request_id] = output
        return outputs

    def run(self, until=lambda: False):
        while self.core.has_unfinished() and not until():
            if self.core.can_step():
                self.step()
            else:
                assert self.woken.wait(60)
                self.woken.clear()
        return self

    def text(self, name):
        return bytes(token for token in self.tokens[name] if token < 256)


@pytest.fixture
def world(make_grammars):
    def make(depth=1, num_blocks=101, context=256, budget=64, **config):
        return World(make_grammars(**config), StructuredConfig(**config), depth, num_blocks, context, budget)

    return make
