from __future__ import annotations

from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary, make_vocabulary, small_vocabulary


def test_bytes_and_more():
    vocabulary = byte_vocabulary()
    tokens = vocabulary.token_bytes
    assert [tokens[byte] for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert 290 < len(tokens) < 320
    assert len(tokens) % 32, "the last word of a row is not full"
    assert [tokens[stop] for stop in vocabulary.stop_token_ids] == [b""]
    assert tokens.count(b"") == 2
    assert tokens.count(b"a") == 2, "two tokens of the same bytes"
    assert vocabulary == byte_vocabulary()


def test_the_digest_tells_vocabularies_apart():
    one, other, stops = make_vocabulary([b"a", b"b"]), make_vocabulary([b"ab"]), make_vocabulary([b"a", b"b"], [1])
    assert len({one.digest, other.digest, stops.digest}) == 3
    assert one == make_vocabulary([b"a", b"b"])


def test_small_ones():
    vocabulary = small_vocabulary()
    tokens = vocabulary.token_bytes
    assert len(tokens) == 64
    assert vocabulary.num_words == 2, "both words are full"
    assert [tokens[stop] for stop in vocabulary.stop_token_ids] == [b""]
    assert b"z" not in tokens, "some bytes are missing"
    assert vocabulary == small_vocabulary()
