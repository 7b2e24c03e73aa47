from __future__ import annotations

import itertools
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from kernelet.config import StructuredConfig
from kernelet.contracts.sampling import SamplerParams
from kernelet.contracts.structured import Text
from kernelet.engine.structured.forced import ForcedText
from kernelet.engine.structured.masks import MANY_ROWS, SLOW_ROW, MaskFiller, mask_row
from kernelet.errors import RequestFailedError
from kernelet.request.request import Request
from kernelet.structured.rules import decode
from kernelet.testing.null.harness import null_request

from .conftest import DIGITS, EOS, YES_OR_NO, held_to

AB = Text("ab")

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


def request_of(name, grammar, stops=(EOS,), **params):
    params = SamplerParams(seed=0, **params)
    request = Request(data=null_request(name, [1], params=params, stop_token_ids=stops), arrival_index=0)
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


@pytest.fixture
def forced(compiler):
    """A tokenizer with a token for each byte."""
    return ForcedText(lambda: compiler.vocabulary, lambda text: list(text.encode()))


def test_text_that_must_come_is_one_token(start, forced):
    both = {ord("a"), 258}

    class Doubled:
        """Beside each token another that begins with the same text."""

        def __init__(self, text):
            self.grammar = start(AB, text)
            self.can_end, self.forced = self.grammar.can_end, self.grammar.forced

        def fill_mask(self, row):
            self.grammar.fill_mask(row)
            row[258 >> 5] |= 1 << (258 & 31)

    tokens = [*forced._vocabulary().token_bytes]
    tokens[258] = b"ab"
    forced._vocabulary = lambda: SimpleNamespace(token_bytes=tokens)
    assert allowed(mask_row(Doubled(b""), (EOS,), WORDS)) == both
    assert allowed(mask_row(Doubled(b""), (EOS,), WORDS, forced)) == {ord("a")}
    assert allowed(mask_row(Doubled(b""), (EOS, ord("a")), WORDS, forced)) == both, "it would cut the text"
    filler = MaskFiller(260, StructuredConfig(), forced)
    rows, _ = filler.rows([request_of("a", Doubled(b"")), request_of("b", Doubled(b""), logit_bias={1: 1.0})])
    assert {name: allowed(row) for name, row in rows.items()} == {"a": {ord("a")}, "b": both}


@pytest.mark.parametrize(
    "expression, text, stops, params, expected",
    [
        (AB, b"", (EOS,), {}, ord("a")),
        (AB, b"a", (EOS,), {}, ord("b")),
        (AB, b"ab", (EOS,), {}, EOS),
        (AB, b"ab", (EOS, 258), {}, None),
        (YES_OR_NO, b"", (EOS,), {}, None),
        (DIGITS, b"4", (EOS,), {}, None),
        (AB, b"", (EOS,), {"logprobs": 0}, None),
        (AB, b"", (EOS,), {"prompt_logprobs": 0}, ord("a")),
        (AB, b"", (EOS,), {"allowed_token_ids": (97,)}, None),
        (AB, b"", (EOS,), {"bad_words_token_ids": ((1,),)}, None),
        (AB, b"", (EOS,), {"extra_args": {"x": {}}}, None),
    ],
)
def test_the_only_token(start, forced, expression, text, stops, params, expected):
    filler = MaskFiller(260, StructuredConfig(), forced)
    request = request_of("r", start(expression, text), stops, **params)
    assert filler.only(request) == expected
    assert MaskFiller(260, StructuredConfig()).only(request) is None
    assert filler.only(request_of("free", None)) is None


def test_no_token_at_all_is_an_error(start, forced):
    filler = MaskFiller(260, StructuredConfig(), forced)
    with pytest.raises(RequestFailedError, match="leaves no token to choose"):
        filler.only(request_of("r", start(AB, b"ab"), stops=()))


def test_the_row_of_a_token_that_is_known():
    assert allowed(MaskFiller(260, StructuredConfig()).single(259)) == {259}
