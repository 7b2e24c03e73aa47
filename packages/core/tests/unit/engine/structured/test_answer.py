from __future__ import annotations

import logging

import numpy as np
import pytest

from kernelet.engine.structured.answer import GuardedGrammar
from kernelet.errors import RequestFailedError
from kernelet.structured.rules import decode

from .conftest import YES_OR_NO, held_to


class Broken:
    def __getattr__(self, name):
        def fail(*_):
            raise RuntimeError("a path on the machine")

        return fail


CALLS = {
    "accept": ([1],),
    "validate": ([1],),
    "rollback": (1,),
    "fork": (),
    "fill_mask": (np.zeros(1, dtype=np.int32),),
    "can_end": (),
    "must_end": (),
    "forced": (),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_an_engine_raises_is_the_requests_own_error_without_its_words(name, caplog):
    grammar = GuardedGrammar(Broken(), "broken")
    with caplog.at_level(logging.ERROR), pytest.raises(RequestFailedError) as caught:
        getattr(grammar, name)(*CALLS[name])
    assert str(caught.value) == "the grammar engine 'broken' failed (RuntimeError)"
    assert "a path on the machine" in caplog.text


def test_calls_go_through(compiler):
    (state,) = held_to(YES_OR_NO).states
    plain = compiler.engine.load(compiler.engine.compile(decode(state.rules))).start()
    grammar = GuardedGrammar(plain, "reference")
    row = np.zeros(compiler.vocabulary.num_words, dtype=np.int32)
    grammar.fill_mask(row)
    assert np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist() == [ord("n"), ord("y")]
    assert (grammar.accept(b"ye"), grammar.accept(b"n"), grammar.validate(b"sx"), grammar.can_end()) == (
        True,
        False,
        1,
        False,
    )
    other = grammar.fork()
    assert other.accept(b"s")
    assert other.can_end()
    assert other.must_end()
    grammar.rollback(2)
    assert grammar.accept(b"no")


def test_what_must_come_is_asked_for_once():
    class Long:
        asked = 0

        def accept(self, token_ids):
            return token_ids != (9,)

        def rollback(self, num_tokens):
            return None

        def forced(self):
            self.asked += 1
            return b"abcd"

    grammar = Long()
    guarded = GuardedGrammar(grammar, "e", (b"", b"a", b"bc", b"x"))
    assert (guarded.forced(), guarded.forced(), grammar.asked) == (b"abcd", b"abcd", 1)
    assert guarded.accept((1,))
    assert not guarded.accept((9,))
    assert (guarded.forced(), grammar.asked) == (b"bcd", 1)
    assert guarded.accept((2,))
    assert (guarded.forced(), grammar.asked) == (b"d", 1)
    for change in (lambda: guarded.accept((3,)), lambda: guarded.accept((0,)), lambda: guarded.rollback(1)):
        before = grammar.asked
        change()
        assert (guarded.forced(), grammar.asked) == (b"abcd", before + 1)
