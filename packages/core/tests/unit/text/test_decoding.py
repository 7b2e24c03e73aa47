from __future__ import annotations

import json

import pytest
import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers

from kernelet.text.decoding import BYTE_ALPHABET, ByteDecoding, parse_decoder, strip_left


def section(decoder: decoders.Decoder) -> dict:
    backend = tokenizers.Tokenizer(models.BPE())
    backend.decoder = decoder
    return json.loads(backend.to_str())["decoder"]


def test_alphabet_is_that_of_the_library():
    """The library writes each byte of valid UTF-8; its alphabet has the same 256 characters."""
    assert set(BYTE_ALPHABET) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(BYTE_ALPHABET.values()) == list(range(256))
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for text in (*map(chr, range(1, 0x800)), "€", "\uffff", "🙂"):
        [(written, _)] = splitter.pre_tokenize_str(text)
        assert ByteDecoding(byte_level=True).token_bytes(written) == text.encode()


@pytest.mark.parametrize(
    "decoder",
    [
        decoders.WordPiece(),
        decoders.BPEDecoder(),
        decoders.CTC(),
        decoders.Strip(" ", 1, 0),
        decoders.Sequence([]),
        decoders.Sequence([decoders.Replace(Regex("▁"), " "), decoders.Fuse()]),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.Strip(" ", 1, 0), decoders.Fuse()]),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 1)]),
        decoders.Sequence([decoders.Fuse(), decoders.Replace("ab", "c")]),
        decoders.Sequence([decoders.Fuse(), decoders.Strip(" ", 1, 0), decoders.Replace("▁", " ")]),
        decoders.Sequence([decoders.Fuse(), decoders.ByteFallback()]),
        decoders.Sequence([decoders.ByteLevel(), decoders.Replace("a", "b")]),
    ],
)
def test_what_has_no_reading_in_bytes_is_left_to_the_library(decoder):
    assert parse_decoder(section(decoder)) is None


def test_no_decoder():
    assert parse_decoder(None) is None


@pytest.mark.parametrize(
    "decoder",
    [
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
        decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 2, 0)]
        ),
        decoders.Sequence(
            [decoders.ByteFallback(), decoders.Fuse(), decoders.Replace("▁", " "), decoders.Strip(" ", 1, 0)]
        ),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()]),
        decoders.Metaspace(),
        decoders.Metaspace(prepend_scheme="never"),
        decoders.ByteLevel(),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "tokens",
    [
        ["▁▁▁a", "▁b", "▁"],
        ["▁", "▁", "▁", "a"],
        ["a", "<0xE2>", "<0x82>", "<0xac>", "▁"],
        ["<0xF0>", "<0x9F>", "<0x99>", "<0x82>"],
        ["Ġhello", "Ċ", "ÄĬ"],
    ],
    ids=str,
)
def test_decodes_as_the_library_does(decoder, tokens):
    decoding = parse_decoder(section(decoder))
    assert decoding is not None
    pieces = [decoding.token_bytes(token, first=place == 0) for place, token in enumerate(tokens)]
    assert decoding.decode(pieces) == decoder.decode(tokens)


def test_metaspace_of_old_files():
    old = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}
    assert parse_decoder(old) == ByteDecoding(token_replacements=(("▁", " "),))
    assert parse_decoder({**old, "add_prefix_space": True}).first_token_drops == "▁"


def test_only_exact_byte_tokens_are_bytes():
    decoding = ByteDecoding(byte_fallback=True)
    assert decoding.token_bytes("<0x41>") == b"A"
    for text in ("<0x4>", "<0x411>", "<0xGG>", "a<0x41>", "<0x+1>"):
        assert decoding.token_bytes(text) == text.encode()


def test_strip_left():
    assert strip_left("   a ", " ", 2) == " a "
    assert strip_left(" ", " ", 2) == ""
    assert strip_left("a", " ", 2) == "a"
    assert strip_left(" a", " ", 0) == " a"
