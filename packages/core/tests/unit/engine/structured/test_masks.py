from __future__ import annotations

import itertools
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from kernelet.config import StructuredConfig
from kernelet.engine.structured.masks import MANY_ROWS, SLOW_ROW, MaskFiller, mask_row
from kernelet.errors import RequestFailedError
from kernelet.request.request import Request
from kernelet.structured.rules import decode
from kernelet.testing.null.harness import null_request

from .conftest import DIGITS, EOS, YES_OR_NO, held_to

WORDS = -(-260 // 32)


@pytest.fixture
def start(compiler):
    def start(expression, text=b""):
        (state,) = held_to(expression).states
        grammar = compiler.engine.load(compiler.engine.compile(decode(state.rules))).start()
        assert not text or grammar.accept(text)
        return grammar

    return start


def allowed(row):
    return set(np.flatnonzero(np.unpackbits(np.frombuffer(row, dtype=np.uint8), bitorder="little")).tolist())


@pytest.mark.parametrize(
    "text, stops, expected",
    [
        (b"", (EOS,), set(b"yn")),
        (b"n", (EOS,), set(b"o")),
        (b"no", (EOS,), {EOS}),
        (b"no", (EOS, 65, 31, 32), {EOS, 65, 31, 32}),
        (b"n", (ord("o"),), set(b"o")),
    ],
)
def test_stop_tokens_come_where_the_text_may_end(start, text, stops, expected):
    assert allowed(mask_row(start(YES_OR_NO, text), stops, WORDS)) == expected


def test_stop_tokens_beside_what_may_follow(start):
    assert allowed(mask_row(start(DIGITS, b"4"), (EOS,), WORDS)) == {EOS, *b"0123456789"}


def test_an_empty_row_is_an_error(start):
    with pytest.raises(RequestFailedError, match="leaves no token to choose"):
        mask_row(start(YES_OR_NO, b"no"), (), WORDS)


def request_of(name, grammar):
    request = Request(data=null_request(name, [1], stop_token_ids=(EOS,)), arrival_index=0)
    request.grammar = grammar
    return request


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("count", [1, MANY_ROWS - 1, MANY_ROWS, 3 * MANY_ROWS])
def test_every_request_has_its_own_row_and_failures_are_alone(start, count, slow):
    times = itertools.count(0, SLOW_ROW * 4 if slow else 0)
    filler = MaskFiller(260, StructuredConfig(), clock=lambda: float(next(times)))
    texts = [b"", b"y", b"ye", b"yes"]
    requests = [request_of(f"r{index}", start(YES_OR_NO, texts[index % 4])) for index in range(count)]
    requests.append(request_of("broken", SimpleNamespace()))
    for _ in range(2):
        rows, failures = filler.rows(requests)
        assert [request.request_id for request, _ in failures] == ["broken"]
        expected = [set(b"yn"), set(b"e"), set(b"s"), {EOS}]
        assert {name: allowed(row) for name, row in rows.items()} == {f"r{i}": expected[i % 4] for i in range(count)}
    shared = any(thread.name.startswith("kernelet-mask") for thread in threading.enumerate())
    filler.close()
    assert shared == (slow and count + 1 >= MANY_ROWS)


def test_a_fill_that_takes_too_long_is_an_error(start):
    times = iter([0.0, 0.5, 1.0, 3.5])
    filler = MaskFiller(260, StructuredConfig(mask_timeout=2.0), clock=lambda: next(times))
    rows, failures = filler.rows([request_of("quick", start(DIGITS)), request_of("slow", start(DIGITS))])
    assert list(rows) == ["quick"]
    assert [(request.request_id, str(error)) for request, error in failures] == [
        ("slow", "the constraint's next tokens took 2.5 s to find, more than 2 s")
    ]
