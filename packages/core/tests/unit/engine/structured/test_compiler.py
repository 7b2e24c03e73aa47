from __future__ import annotations

import ast
import logging
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernelet.config import StructuredConfig
from kernelet.engine.sandbox.pool import Stop
from kernelet.engine.structured.compiler import GrammarCompiler
from kernelet.errors import (
    RequestFailedError,
    SandboxError,
    SandboxMemoryError,
    SandboxTargetError,
    SandboxTimeoutError,
    SelectionError,
    UnenforcedConstraintError,
)
from kernelet.text.vocabulary import byte_vocabulary, vocabulary_of

from .conftest import DIGITS, held_to

(RULES,) = (state.rules for state in held_to(DIGITS).states)


@pytest.fixture
def make(kernel, sandbox):
    def make(load_vocabulary=byte_vocabulary, seconds=60.0):
        return GrammarCompiler(kernel, StructuredConfig(compile_timeout=seconds), load_vocabulary, sandbox)

    return make


def test_compiled_in_a_helper_and_loaded_here(make):
    grammar = make().compile("good", RULES).start()
    assert grammar.accept(list(b"12"))
    assert not grammar.accept(list(b"x"))
    assert grammar.can_end()


def test_a_helper_makes_an_engine_once_a_vocabulary(make):
    import os

    def calls(compiler, count):
        found = [ast.literal_eval(compiler.compile("counted", RULES).decode()) for _ in range(count)]
        assert len({pid for pid, *_ in found}) == 1 != os.getpid()
        return [rest for _, *rest in found]

    first = make()
    (made, used, tokens), *others = calls(first, 3)
    assert tokens == 257
    assert others == [[made, used + 1, 257], [made, used + 2, 257]]
    assert calls(make(lambda: vocabulary_of([b"a", b"b"], ())), 1) == [[made + 1, 1, 2]]
    assert calls(first, 1) == [[made + 1, used + 3, 257]]


def test_the_vocabulary_is_made_once_and_late(make):
    made = []

    def load():
        made.append(1)
        return byte_vocabulary()

    compiler = make(load)
    assert made == []
    compiler.compile("good", RULES)
    compiler.compile("flat", RULES)
    assert compiler.vocabulary.stop_token_ids == (256,)
    assert made == [1]


@pytest.mark.parametrize(
    "name, kind, says",
    [
        ("refusing", UnenforcedConstraintError, "'refusing' does not take this constraint: rules with an x in"),
        ("raising", RequestFailedError, "^the grammar engine 'raising' failed .RuntimeError.$"),
        ("notloading", RequestFailedError, "^the grammar engine 'notloading' failed .RuntimeError.$"),
        ("notmade", RequestFailedError, "^the grammar engine 'notmade' failed .RuntimeError.$"),
        ("crashing", SandboxError, "compiling the constraint with crashing failed"),
        ("hungry", SandboxMemoryError, "more memory than it may have"),
        ("nobody", SelectionError, "No grammar engine is named 'nobody'"),
    ],
)
def test_every_failure_is_one_error_and_the_next_constraint_is_compiled(make, caplog, name, kind, says):
    compiler = make()
    with caplog.at_level(logging.CRITICAL), pytest.raises(kind, match=says) as caught:
        compiler.compile(name, RULES)
    assert "/a/path" not in str(caught.value)
    assert compiler.compile("good", RULES).start().accept(list(b"7"))


def test_an_engine_is_brought_up_before_it_is_needed(make):
    compiler = make()
    compiler.warm("counted")
    made = compiler._engines["counted"]
    compiler.compile("counted", RULES)
    assert compiler._engines["counted"] is made


@pytest.mark.parametrize("name", ["raising", "notmade", "nobody"])
def test_an_engine_that_cannot_be_brought_up_is_only_told(make, caplog, name):
    with caplog.at_level(logging.INFO):
        make().warm(name)
    assert f"the grammar engine {name!r} was not brought up" in caplog.text


def test_the_deadline_is_of_the_compilation_alone(make):
    with pytest.raises(SandboxTimeoutError, match=r"took longer than 0\.2 s"):
        make(seconds=0.2).compile("slow", RULES)
    assert make(seconds=60.0).compile("good", RULES).start().accept(list(b"7"))


def test_a_compilation_can_be_stopped_and_the_next_constraint_is_compiled(make):
    stop = Stop()
    stop()
    with pytest.raises(SandboxError, match="compiling the constraint with good was stopped"):
        make().compile("good", RULES, stop)
    compiler, stop = make(), Stop()
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(compiler.compile, "slow", RULES, stop)
        while stop._helper is None:
            time.sleep(0.01)
        stop()
        with pytest.raises(SandboxError, match="the process that ran it"):
            running.result(30)
    assert compiler.compile("good", RULES).start().accept(list(b"7"))


def test_packages_that_changed_under_the_engine_are_named(kernel, caplog):
    class Sandbox:
        def call_sync(self, *_, **__):
            raise SandboxTargetError("failed", error="ManifestMismatchError", text="long and full of paths")

    compiler = GrammarCompiler(kernel, StructuredConfig(), byte_vocabulary, Sandbox())
    with caplog.at_level(logging.CRITICAL), pytest.raises(RequestFailedError, match="packages have changed since"):
        compiler.compile("good", RULES)
