from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, processors

from kernelet.errors import PromptError, TokenizerError
from kernelet.text.tokenizer import LETTERS_LOST, LONG, Tokenizer

TEXTS = [
    "",
    " ",
    "Hello, world",
    "  two  spaces ",
    "<s>The dog</s> <|end|><tool_call>x",
    "こんにちは 🙂🙂 naïve\r\n\t€",
    "ď" * 50,
]
CONFIG = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def transformers_tokenizer(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("family", ["byte_level", "sentencepiece"])
@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        {**CONFIG, "add_bos_token": True, "add_eos_token": True},
        {**CONFIG, "additional_special_tokens": ["<|new|>", "dog"], "image_token": "<|image|>"},
        {**CONFIG, "extra_special_tokens": {"tool_token": "<|tool|>"}},
        {**CONFIG, "bos_token": {"__type": "AddedToken", "content": "<|begin|>", "lstrip": True, "normalized": False}},
    ],
    ids=["plain", "flags", "extra", "roles", "object"],
)
def test_ids_are_those_of_transformers(family, config, make_backend, write_folder):
    folder = write_folder(make_backend[family](), tokenizer_config=config)
    theirs, ours = transformers_tokenizer(folder), Tokenizer.from_folder(folder)
    for text in [*TEXTS, "the dog <|new|> x  <|begin|>  y <|image|><|tool|>"]:
        for special in (True, False):
            assert ours.encode(text, add_special_tokens=special) == theirs.encode(text, add_special_tokens=special)
        ids = theirs.encode(text)
        for skip in (True, False):
            assert ours.decode(ids, skip_special_tokens=skip) == theirs.decode(ids, skip_special_tokens=skip)
    assert len(ours) == len(theirs)
    assert ours.vocab_size == theirs.vocab_size
    assert (ours.bos_token_id, ours.eos_token_id) == (theirs.bos_token_id, theirs.eos_token_id)
    assert ours.special_tokens.items() >= theirs.special_tokens_map.items()


def test_added_tokens_of_the_configuration(make_backend, write_folder):
    backend = make_backend["byte_level"]()
    known, new = backend.token_to_id("<tool_call>"), backend.get_vocab_size()
    added = {
        str(known): {"content": "<tool_call>", "special": False},
        str(new): {"content": "<|new|>", "special": True},
    }
    folder = write_folder(backend, tokenizer_config={**CONFIG, "added_tokens_decoder": added})
    theirs, ours = transformers_tokenizer(folder), Tokenizer.from_folder(folder)
    text = "a<tool_call> b<|new|>"
    assert ours.encode(text) == theirs.encode(text)
    assert ours.token_to_id("<|new|>") == new
    assert ours.is_special(new)
    assert not ours.is_special(known)
    assert [ours.added_token(index) for index in (known, new, 5)] == ["<tool_call>", "<|new|>", None]


def test_the_configuration_makes_an_added_token_special(make_backend, write_folder):
    backend = make_backend["byte_level"]()
    added = {
        str(backend.token_to_id(token)): {"content": token, "special": special}
        for token, special in (("<tool_call>", True), ("<|extra|>", False))
    }
    folder = write_folder(backend, tokenizer_config={**CONFIG, "added_tokens_decoder": added})
    theirs, ours = transformers_tokenizer(folder), Tokenizer.from_folder(folder)
    ids = ours.encode("a<tool_call>b<|extra|>c")
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True) == "abc"


def test_an_added_token_with_an_impossible_id_is_refused(make_backend, write_folder):
    added = {"9000": {"content": "<|new|>", "special": True}}
    folder = write_folder(make_backend["byte_level"](), tokenizer_config={"added_tokens_decoder": added})
    with pytest.raises(TokenizerError, match=r"'<\|new\|>' the id 9000"):
        Tokenizer.from_folder(folder)


def test_truncation_and_padding_of_the_file_do_not_count(make_backend, write_folder):
    backend = make_backend["byte_level"]()
    backend.enable_truncation(3)
    backend.enable_padding(length=100)
    ours = Tokenizer.from_folder(write_folder(backend))
    text = "The quick brown fox jumps over the lazy dog"
    assert ours.encode(text) == make_backend["byte_level"]().encode(text).ids


def test_split_special_tokens(make_backend, write_folder):
    folder = write_folder(make_backend["byte_level"](), tokenizer_config={**CONFIG, "split_special_tokens": True})
    theirs, ours = transformers_tokenizer(folder), Tokenizer.from_folder(folder)
    assert ours.encode("<s>a") == theirs.encode("<s>a")
    assert ours.token_to_id("<s>") not in ours.encode("<s>a")


@pytest.mark.parametrize(
    "files, expected",
    [
        ({}, set()),
        ({"tokenizer_config": CONFIG}, {2}),
        ({"special_tokens_map": {"eos_token": {"content": "</s>", "lstrip": False}}}, {2}),
        ({"tokenizer_config": CONFIG, "generation_config": {"eos_token_id": 3}}, {2, 3}),
        ({"tokenizer_config": CONFIG, "generation_config": {"eos_token_id": [3, 9]}}, {2, 3, 9}),
        ({"config": {"eos_token_id": 7}, "generation_config": {}}, {7}),
        ({"config": {"eos_token_id": 7}, "generation_config": {"eos_token_id": 8}}, {8}),
        ({"config": {"text_config": {"eos_token_id": [7]}}}, {7}),
    ],
)
def test_ids_that_end_a_text(files, expected, make_backend, write_folder):
    ours = Tokenizer.from_folder(write_folder(make_backend["byte_level"](), **files))
    assert ours.eos_token_ids == expected
    assert ours.eos_token_id in (expected or {None})


def test_bos_of_the_generation_configuration(make_backend, write_folder):
    ours = Tokenizer.from_folder(write_folder(make_backend["byte_level"](), generation_config={"bos_token_id": 1}))
    assert ours.bos_token_id == 1


def test_special_ids(byte_level):
    texts = {byte_level.id_to_token(index) for index in byte_level.all_special_ids}
    assert texts == {"<unk>", "<s>", "</s>", "<|end|>", "<|extra|>"}
    assert all(byte_level.is_special(index) for index in byte_level.all_special_ids)
    assert list(byte_level.all_special_ids) == sorted(byte_level.all_special_ids)


@given(st.text())
def test_bytes_of_tokens_spell_the_text_in_byte_level(byte_level, text):
    ids = byte_level.encode(text, add_special_tokens=False)
    assert b"".join(byte_level.token_bytes(index) for index in ids) == text.encode()


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁")))
def test_bytes_of_tokens_spell_the_text_with_byte_fallback(sentencepiece, text):
    ids = sentencepiece.encode(text, add_special_tokens=False)
    spelled = b"".join(sentencepiece.token_bytes(index) for index in ids)
    assert spelled == (f" {text}" if text else "").encode()


def test_bytes_of_kinds_of_tokens(byte_level, sentencepiece, wordpiece):
    assert sentencepiece.token_bytes(sentencepiece.token_to_id("<0xE2>")) == b"\xe2"
    assert sentencepiece.token_bytes(sentencepiece.token_to_id("▁▁")) == b"  "
    assert sentencepiece.token_bytes(sentencepiece.token_to_id("<s>")) == b"<s>"
    assert byte_level.token_bytes(byte_level.token_to_id("Ġ")) == b" "
    assert byte_level.token_bytes(byte_level.token_to_id("<tool_call>")) == b"<tool_call>"
    assert wordpiece.token_bytes(wordpiece.token_to_id("##o")) == b"##o"
    for tokenizer in (byte_level, sentencepiece, wordpiece):
        assert tokenizer.token_bytes(len(tokenizer) + 5) == b""
        assert tokenizer.token_bytes(-1) == b""


def test_an_added_word_with_letters_of_the_byte_alphabet_keeps_them(make_backend):
    """The library reads the added token 'Straße' in the byte alphabet and loses a letter."""
    backend = make_backend["byte_level"]()
    backend.add_tokens(["Straße"])
    assert "�" in backend.decode(backend.encode("Straße").ids)
    ours = Tokenizer(backend)
    assert ours.decode(ours.encode("Die Straße!")) == "Die Straße!"


def test_ids_outside_the_vocabulary_have_no_text(any_family):
    ids = any_family.encode("The dog", add_special_tokens=False)
    assert any_family.decode([len(any_family) + 9, *ids, -1, 10**9, 2**40]) == any_family.decode(ids)


@given(st.lists(st.integers(0, 330)))
def test_any_ids_decode_as_the_library_does_in_byte_level(byte_level, ids):
    assert byte_level.decode(ids, skip_special_tokens=False) == byte_level.decode_with_library(ids)


def test_threads(byte_level):
    texts = [f"{text}{number}" for number in range(50) for text in TEXTS]
    expected = [byte_level.encode(text) for text in texts]
    fresh = Tokenizer(tokenizers.Tokenizer.from_str(byte_level._backend.to_str()))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fresh.encode, texts)) == expected
        assert list(pool.map(fresh.decode, expected)) == [byte_level.decode(ids) for ids in expected]


def test_missing_files(tmp_path):
    with pytest.raises(TokenizerError, match=r"is not a folder: give the folder"):
        Tokenizer.from_folder(tmp_path / "nothing")
    with pytest.raises(TokenizerError, match=r"has no tokenizer\.json: copy it"):
        Tokenizer.from_folder(tmp_path)
    (tmp_path / "tokenizer.model").touch()
    with pytest.raises(TokenizerError, match=r"has tokenizer\.model but no tokenizer\.json.*save_pretrained"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize("content", ["", "{}", "[1]", json.dumps({"model": {"type": "Unheard"}})])
def test_damaged_file(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(TokenizerError, match=r"cannot be read by tokenizers .*: the file is damaged, or needs a newer"):
        Tokenizer.from_folder(tmp_path)


def test_text_that_cannot_be_encoded(byte_level):
    with pytest.raises(PromptError, match=r"should be a string, not bytes"):
        byte_level.encode(b"abc")
    with pytest.raises(PromptError, match=r"lone surrogate \(U\+D800\) at position 2"):
        byte_level.encode("ab\ud800")
    no_unknown = Tokenizer(tokenizers.Tokenizer(models.WordLevel({"a": 0}, unk_token="<unk>")))
    with pytest.raises(PromptError, match="no tokens for some character"):
        no_unknown.encode("b")


def test_post_processor_of_the_file_counts(make_backend, write_folder):
    backend = make_backend["byte_level"]()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    ours = Tokenizer.from_folder(write_folder(backend, tokenizer_config={**CONFIG, "add_bos_token": False}))
    assert ours.encode("a")[::2] == [1, 2]
    assert ours.encode("a", add_special_tokens=False)[0] > 2


def test_no_decoder_joins_with_spaces():
    backend = tokenizers.Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    backend.add_tokens([AddedToken("c")])
    ours = Tokenizer(backend)
    assert ours.decode([0, 1, 2]) == "a b c"
    assert ours.token_bytes(1) == b"b"


def test_metaspace_drops_space_marks_of_the_first_token_only(make_backend):
    backend = make_backend["sentencepiece"]()
    backend.decoder = decoders.Metaspace()
    ours = Tokenizer(backend)
    twice = ours.token_to_id("▁▁")
    assert ours.decode([twice, twice]) == backend.decode([twice, twice]) == "  "


@pytest.mark.parametrize("family", ["byte_level", "sentencepiece"])
@given(
    text=st.text(st.sampled_from("the dog <s>🙂é"), max_size=300), factor=st.integers(1, 40), tokens=st.integers(1, 9)
)
def test_what_is_said_to_exceed_does(family, text, factor, tokens, make_backend):
    tokenizer = Tokenizer(make_backend[family]())
    long = text * factor
    if tokenizer.surely_exceeds(long, tokens):
        assert len(tokenizer.encode(long, add_special_tokens=False)) > tokens
    else:
        assert len(long) <= tokens * tokenizer.longest_token * LETTERS_LOST


def test_a_huge_text_exceeds_without_being_tokenized(make_backend):
    tokenizer = Tokenizer(make_backend["byte_level"]())
    assert tokenizer.surely_exceeds("x" * (100 * tokenizer.longest_token + 1), 100)
    assert not tokenizer.surely_exceeds("x" * 100, 100)


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("family", ["byte_level", "sentencepiece"])
def test_long_texts_have_the_same_tokens(family, adds, make_backend):
    backend = make_backend[family]()
    text = "the dog <s>🙂é  " * LONG
    expected = backend.encode(text, add_special_tokens=adds).ids
    assert Tokenizer(backend).encode(text, add_special_tokens=adds) == expected


def test_long_texts_let_other_threads_run(make_backend):
    """`encode` of the library holds the interpreter's lock all the time; a batch does not."""
    ours, asked = Tokenizer(make_backend["byte_level"]()), []
    backend = ours._backend

    def batch(texts, *, add_special_tokens):
        asked.extend(texts)
        return backend.encode_batch_fast(texts, add_special_tokens=add_special_tokens)

    ours._backend = SimpleNamespace(encode=backend.encode, encode_batch_fast=batch)
    ours.encode("x" * LONG)
    assert asked == []
    ours.encode("x" * (LONG + 1))
    assert asked == ["x" * (LONG + 1)]


@pytest.mark.parametrize("text", ["x" * LONG + "\ud800", ["x"] * (LONG + 1)])
def test_long_prompts_that_are_no_text(text, make_backend):
    with pytest.raises(PromptError, match=r"lone surrogate|should be a string"):
        Tokenizer(make_backend["byte_level"]()).encode(text)
