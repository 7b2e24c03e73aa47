from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.text.streams import ByteStream, WindowStream

SPICY = "🌶".encode()


def byte_ids(tokenizer, data: bytes) -> list[int]:
    """One token a byte."""
    found = {tokenizer.token_bytes(index): index for index in range(len(tokenizer) - 1, -1, -1)}
    if tokenizer.decoding.byte_fallback:
        return [tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in data]
    return [found[bytes([byte])] for byte in data]


def stream(tokenizer, prompt=()):
    return ByteStream(tokenizer, tokenizer.decoding, prompt)


@given(data=st.binary(max_size=40))
def test_bytes_one_at_a_time_are_decoded_as_python_does(exact, data):
    text = stream(exact)
    pieces = []
    for index in byte_ids(exact, data):
        pieces.append(text.feed(index))
        assert len(text._decoder.getstate()[0]) <= 3
    pieces.append(text.flush())
    whole = data.decode("utf-8", "replace")
    strips = exact.decoding.strip_count and whole.startswith(" ")
    assert "".join(pieces) == (whole[1:] if strips else whole)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_character_the_prompt_began_is_finished(exact, cut):
    prompt = exact.encode("Do not echo me") + byte_ids(exact, SPICY[:cut])
    text = stream(exact, prompt)
    pieces = [text.feed(index) for index in byte_ids(exact, SPICY[cut:] + b"!")]
    assert "".join(pieces) == "🌶!"


@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("goes_on", [b"", b"a", b"\xf0\x9f\x8c\xb6", b" a"])
def test_a_character_the_prompt_began_and_nobody_finished_is_not_part_of_the_text(exact, cut, goes_on):
    text = stream(exact, exact.encode("Do not echo me") + byte_ids(exact, SPICY[:cut]))
    pieces = [text.feed(index) for index in byte_ids(exact, goes_on)]
    assert "".join([*pieces, text.flush()]) == goes_on.decode()


def test_a_true_replacement_character_across_the_prompt(exact):
    text = stream(exact, byte_ids(exact, b"\xef\xbf"))
    assert text.feed(*byte_ids(exact, b"\xbd")) == "\ufffd"


def test_a_character_begun_by_the_prompt_and_gone_on_with_but_unfinished(exact):
    text = stream(exact, byte_ids(exact, b"\xf0\x9f"))
    assert text.feed(*byte_ids(exact, b"\x8c")) == ""
    assert text.holds
    assert text.flush() == "\ufffd"
    assert not text.holds


def test_flush_ends_the_character_the_prompt_began(exact):
    text = stream(exact, byte_ids(exact, SPICY[:3]))
    assert text.flush() == ""
    assert text.feed(*byte_ids(exact, SPICY[3:])) == "\ufffd"


def test_the_first_space_is_stripped_only_where_the_text_begins(sentencepiece):
    space, word = sentencepiece.token_to_id("▁▁"), sentencepiece.token_to_id("a")
    begins = stream(sentencepiece)
    assert [begins.feed(space), begins.feed(word), begins.feed(space)] == [" ", "a", "  "]
    follows = stream(sentencepiece, [word])
    assert [follows.feed(space), follows.feed(word)] == ["  ", "a"]


def test_the_first_token_of_metaspace(metaspace):
    space, word = metaspace.token_to_id("▁"), metaspace.token_to_id("a")
    begins = stream(metaspace)
    assert [begins.feed(len(metaspace) + 1), begins.feed(space), begins.feed(space), begins.feed(word)] == [
        "",
        "",
        " ",
        "a",
    ]


@given(data=st.data())
def test_window_of_a_word_tokenizer(wordpiece, data):
    ids = data.draw(st.lists(st.integers(0, len(wordpiece) + 2), max_size=40))
    cut = data.draw(st.integers(0, len(ids)))
    text = WindowStream(wordpiece, [index for index in ids[:cut] if index < len(wordpiece)])
    pieces = [text.feed(index) for index in ids[cut:]]
    assert not text.holds
    whole, before = (wordpiece.decode(part, skip_special_tokens=False) for part in (ids, ids[:cut]))
    assert before + "".join(pieces) + text.flush() == whole


def test_window_holds_a_character_until_it_is_whole(regex_replace):
    ids = [regex_replace.token_to_id(f"<0x{byte:02X}>") for byte in SPICY]
    text = WindowStream(regex_replace)
    assert [text.feed(index) for index in ids] == ["", "", "", "🌶"]
    begun = WindowStream(regex_replace, [regex_replace.token_to_id("a"), *ids[:2]])
    assert "".join([begun.feed(ids[2]), begun.feed(ids[3])]) == "🌶"


def test_window_does_not_hold_for_ever(regex_replace):
    bad = regex_replace.token_to_id("<0xFF>")
    text = WindowStream(regex_replace)
    shown = ""
    for number in range(1, 1001):
        shown += text.feed(bad)
        assert len(text._window) < 20
        assert number - len(shown) < 4
    assert shown + text.flush() == "\ufffd" * 1000
