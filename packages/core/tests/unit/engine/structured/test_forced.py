"""Text that must come: the tokens it is written with, and steps that it takes, on the null worker."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelet.contracts.sampling import SamplerParams
from kernelet.contracts.structured import Chars, Concat, Repeat, Text, Union
from kernelet.engine.structured.forced import LOOK_AHEAD, ForcedText, row_of, tokens_of
from kernelet.scheduler.structured import MAX_JUMP
from kernelet.text.vocabulary import vocabulary_of

from .conftest import DIGITS, EOS, THREE, YES_OR_NO

LETTER = Chars(((97, 122),))
KEYS = Concat((Text('{"city": "'), Repeat(LETTER, 1, 4), Text('", "country": "'), LETTER, Text('"}')))
"""Long texts that must come, between letters that may be anything."""

WORDS = [b"", b"a", b"b", b"c", b"ab", b"bc", b"abc", b"cd", b"d", "é".encode(), b"\xc3", b"\xa9", b"ab"]
VOCABULARY = vocabulary_of(WORDS, ())


class Forced:
    """What must come, as an engine says it."""

    def __init__(self, text):
        self.text = text

    def forced(self):
        return self.text


def row(*tokens):
    found = np.zeros(1, np.int32)
    for token in tokens:
        found |= row_of(token, 1)
    return found


@given(tokens=st.sets(st.integers(0, 99)))
def test_rows_are_read_as_they_are_written(tokens):
    found = np.zeros(4, np.int32)
    for token in tokens:
        found |= row_of(token, 4)
    assert list(tokens_of(found)) == sorted(tokens)
    assert np.flatnonzero(np.unpackbits(found.view(np.uint8), bitorder="little")).tolist() == sorted(tokens)


@pytest.mark.parametrize(
    "text, tokens, encoded, expected",
    [
        (b"", (1, 2), [1], None),
        (b"abc", (1, 4, 6), [6], 6),
        (b"abcd", (1, 4, 6), [4, 7], 4),
        (b"ab", (1, 4, 12), [12], 12),
        (b"ab", (1, 4, 6), [4], None),
        (b"ab", (1,), [4], None),
        (b"ab", (1, 4), [], None),
        ("éa".encode(), (9, 10), [9, 1], 9),
        ("é".encode()[1:] + b"a", (11,), [1], None),
    ],
    ids=[
        "nothing must come",
        "one token",
        "the tokenizer's first of two",
        "one of two tokens of the same text",
        "a token reaches beyond what must come",
        "the tokenizer's own does not fit",
        "the tokenizer has none",
        "letters of several bytes",
        "a letter that has begun",
    ],
)
def test_the_tokenizers_own_token(text, tokens, encoded, expected):
    forced = ForcedText(lambda: VOCABULARY, lambda _: encoded)
    assert forced.token(Forced(text), row(*tokens)) == expected


def test_how_far_it_looks():
    asked = []
    forced = ForcedText(lambda: VOCABULARY, lambda text: asked.append(text) or [1])
    for _ in range(2):
        assert forced.token(Forced(b"a" * (LOOK_AHEAD - 1) + "é".encode() * 9), row(1)) == 1
    assert asked == ["a" * (LOOK_AHEAD - 1)]


def run(world, requests, **options):
    engine = world(**options)
    for name, fields in requests.items():
        engine.add(name, **fields)
    engine.run()
    ends = {
        name: (end.finish_reason, end.structured, end.error, end.stop_token_id) for name, end in engine.ends.items()
    }
    return engine, (engine.tokens, ends)


def steps_of(engine, name):
    return sum(entry.request_id == name for plan in engine.executor.plans for entry in plan.scheduled)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_run_costs_one_step(world, depth):
    fields = {"expression": KEYS, "max_tokens": 99}
    plain, expected = run(world, {"r": fields}, depth=depth, jump_forward=False)
    jumps, found = run(world, {"r": fields}, depth=depth)
    assert found == expected
    tokens = expected[0]["r"]
    letters = plain.text("r").index(b'", "country') - len('{"city": "')
    choices = letters + (letters < 4) + 1  # of the quote behind fewer letters too
    forced = sum(stats.num_forced_tokens for stats in jumps.core.take_step_stats())
    most = len(tokens) - 1 - choices  # all but the first token, which comes with the prompt
    assert most - 3 * (depth - 1) <= forced <= most
    # a step in flight behind a run samples what is known by then
    assert steps_of(jumps, "r") == len(tokens) - forced + 3 * (depth - 1)
    assert steps_of(plain, "r") >= len(tokens)
    assert sum(stats.num_forced_tokens for stats in plain.core.take_step_stats()) == 0


def test_long_runs_are_cut(world):
    fields = {"expression": Text("ab" * 100), "max_tokens": 201, "stops": ()}
    engine, (tokens, ends) = run(world, {"r": fields}, context=400)
    assert bytes(tokens["r"]) == b"ab" * 100
    assert ends["r"][:2] == ("stop", "enforced")
    assert max(entry.num_tokens for plan in engine.executor.plans for entry in plan.scheduled) <= MAX_JUMP + 1


@pytest.mark.parametrize(
    "params",
    [
        SamplerParams(seed=0, logprobs=2),
        SamplerParams(seed=0, allowed_token_ids=tuple(range(260))),
        SamplerParams(seed=0, logit_bias={5: 1.0}),
        SamplerParams(seed=0, bad_words_token_ids=((1, 2),)),
        SamplerParams(seed=0, extra_args={"one": {}}),
    ],
    ids=["log-probabilities", "allowed tokens", "bias", "bad words", "processors"],
)
def test_requests_that_look_at_single_tokens_sample_them(world, params):
    engine, (tokens, _) = run(world, {"r": {"expression": KEYS, "max_tokens": 99, "params": params}})
    assert len(engine.executor.plans) >= len(tokens["r"])
    assert sum(stats.num_forced_tokens for stats in engine.core.take_step_stats()) == 0


EXPRESSIONS = (None, YES_OR_NO, DIGITS, THREE, KEYS, Text("always the same"), Union((KEYS, Text('{"city": "x'))))


@st.composite
def mixes(draw):
    """Requests, and how they are served."""

    def one(index):
        stops = draw(st.sampled_from([(EOS,), (), (EOS, 258), (EOS, ord('"'))]))
        return {
            "expression": draw(st.sampled_from(EXPRESSIONS)),
            "stops": stops,
            "prompt": draw(st.lists(st.integers(0, 3), min_size=1, max_size=20)),
            "max_tokens": draw(st.integers(1, 60)),
            "params": SamplerParams(
                seed=index,
                temperature=draw(st.sampled_from([0.0, 1.0])),
                min_tokens=(few := draw(st.sampled_from([0, 0, 3, 40]))),
                suppressed_token_ids=stops if few else (),
                logprobs=draw(st.sampled_from([None, None, None, 1])),
                prompt_logprobs=draw(st.sampled_from([None, None, 1])),
            ),
        }

    requests = {f"r{index}": one(index) for index in range(draw(st.integers(1, 5)))}
    return requests, {"num_blocks": draw(st.sampled_from([25, 40, 101])), "budget": draw(st.sampled_from([5, 16, 64]))}


def check_mixes(world, count):
    @settings(suppress_health_check=list(HealthCheck), max_examples=count)
    @given(mix=mixes(), depth=st.integers(1, 3))
    def same(mix, depth):
        requests, options = mix
        _, expected = run(world, requests, context=96, jump_forward=False)
        engine, found = run(world, requests, context=96, depth=depth, **options)
        assert found == expected
        engine.core.cache.check()

    same()


def test_texts_are_the_same_without_it(world):
    check_mixes(world, 12)


@pytest.mark.long
def test_many_texts_are_the_same_without_it(world):
    check_mixes(world, 400)
