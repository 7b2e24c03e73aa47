from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.text.detokenizer import IncrementalDetokenizer, Span, text_of

UNICODE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"))


def run(tokenizer, ids, **options) -> list[Span]:
    detokenizer = IncrementalDetokenizer(tokenizer, **options)
    spans = [span for index in ids for span in detokenizer.push(index)]
    return [*spans, *detokenizer.flush()]


@given(text=UNICODE, skip=st.booleans())
def test_text_is_that_of_the_library(exact, text, skip):
    ids = exact.encode(f"{text}</s>{text}<|end|>")
    spans = run(exact, ids, skip_special_tokens=skip)
    assert text_of(spans) == exact._backend.decode(ids, skip_special_tokens=skip)


@given(data=st.data(), skip=st.booleans())
def test_any_ids_in_byte_level_are_those_of_the_library(byte_level, data, skip):
    ids = data.draw(st.lists(st.integers(0, len(byte_level) + 3)))
    spans = run(byte_level, ids, skip_special_tokens=skip)
    assert text_of(spans) == byte_level._backend.decode(ids, skip_special_tokens=skip)


@given(data=st.data(), skip=st.booleans(), spaces=st.booleans(), prompt=st.booleans())
def test_text_alone_is_that_of_the_spans(sentencepiece, data, skip, spaces, prompt):
    ids = data.draw(st.lists(st.integers(0, len(sentencepiece) + 3), max_size=30))
    before = data.draw(st.lists(st.integers(0, len(sentencepiece) - 1), max_size=6)) if prompt else []
    options = {"prompt_ids": before, "skip_special_tokens": skip, "spaces_between_special_tokens": spaces}
    by_span, by_text = (IncrementalDetokenizer(sentencepiece, **options) for _ in range(2))
    for index in ids:
        assert by_text.push_text(index) == text_of(by_span.push(index))
    assert text_of(by_text.flush()) == text_of(by_span.flush())


@given(data=st.data(), skip=st.booleans())
def test_any_ids_with_byte_fallback_are_their_bytes(sentencepiece, data, skip):
    ids = data.draw(st.lists(st.integers(0, len(sentencepiece) + 3)))
    shown = [index for index in ids if not (skip and sentencepiece.is_special(index))]
    tokens = [sentencepiece.id_to_token(index) or "" for index in shown]
    data = b"".join(bytes.fromhex(t[3:5]) if t.startswith("<0x") else t.replace("▁", " ").encode() for t in tokens)
    text = data.decode("utf-8", "replace")
    assert text_of(run(sentencepiece, ids, skip_special_tokens=skip)) == text.removeprefix(" ")


@given(data=st.data(), skip=st.booleans())
def test_spans_keep_every_id_in_order(exact, data, skip):
    ids = data.draw(st.lists(st.integers(0, len(exact) + 3)))
    keep = data.draw(st.sets(st.sampled_from(exact.all_special_ids)))
    spans = run(exact, ids, skip_special_tokens=skip, keep_ids=keep)
    assert [index for span in spans for index in span.token_ids] == ids
    assert all(len(span.token_ids) == 1 for span in spans if span.special)


@given(text=UNICODE, data=st.data())
def test_prompt_and_output_join_to_the_whole(exact, text, data):
    ids = exact.encode(text)
    cut = data.draw(st.integers(0, len(ids)))
    output = text_of(run(exact, ids[cut:], prompt_ids=ids[:cut]))
    before, whole = exact.decode(ids[:cut]), exact.decode(ids)
    unfinished = before.endswith("\ufffd") and not whole.startswith(before)
    assert (before[:-1] if unfinished else before) + output == whole


def test_a_prompt_that_ends_inside_a_character_is_not_echoed(byte_level):
    pepper = byte_level.encode("🌶")
    assert len(pepper) > 2
    prompt = [*byte_level.encode("A hot one: "), *pepper[:-1]]
    assert text_of(run(byte_level, [pepper[-1]], prompt_ids=prompt)) == "🌶"
    assert text_of(run(byte_level, byte_level.encode("no"), prompt_ids=prompt)) == "no"


@pytest.mark.parametrize("text", ["ď", "🙂🙂", "e\u0301", "\ufffd"])
def test_characters_come_whole(exact, text):
    detokenizer = IncrementalDetokenizer(exact, prompt_ids=exact.encode("a"))
    ids = exact.encode(f"a{text}")[len(exact.encode("a")) :]
    deltas = [text_of(detokenizer.push(index)) for index in ids]
    assert "".join(deltas) == text
    assert all(delta in ("", *text) for delta in deltas)


def test_one_replacement_character_for_an_unfinished_tail(exact):
    ids = exact.encode("ab🙂")
    assert text_of(run(exact, ids[:-1])) == "ab\ufffd"


def test_a_thousand_real_replacement_characters(exact):
    """Held text stays short: the time of a token does not grow."""
    ids = exact.encode("\ufffd" * 1000)
    detokenizer = IncrementalDetokenizer(exact)
    shown = 0
    for number, index in enumerate(ids, 1):
        shown += sum(len(span.text) for span in detokenizer.push(index))
        assert len(detokenizer._held) < 3
        assert number / 3 - shown <= 3
    assert shown == 1000


def test_time_of_a_token_does_not_grow(exact):
    def seconds(repeats: int) -> float:
        ids = exact.encode("The dog 🙂. ") * repeats
        detokenizer = IncrementalDetokenizer(exact)
        start = time.process_time()
        for index in ids:
            detokenizer.push(index)
        return (time.process_time() - start) / repeats

    short = min(seconds(20) for _ in range(5))
    assert seconds(2000) < 5 * short


def test_kept_markers_have_spans_of_their_own(byte_level):
    tool, extra = byte_level.token_to_id("<tool_call>"), byte_level.token_to_id("<|extra|>")
    end, half = byte_level.token_to_id("</s>"), byte_level.encode("🙂")[:1]
    ids = [*byte_level.encode("a"), tool, *half, extra, end]
    spans = run(byte_level, ids, keep_ids={tool, extra})
    assert [(span.text, span.special) for span in spans] == [
        ("a", False),
        ("<tool_call>", True),
        ("\ufffd", False),
        ("<|extra|>", True),
        ("", True),
    ]


def test_a_skipped_token_inside_a_character_does_not_break_it(byte_level):
    smile, end = byte_level.encode("🙂"), byte_level.token_to_id("</s>")
    ids = [smile[0], end, *smile[1:]]
    assert run(byte_level, ids) == [Span("🙂", tuple(ids))]
    assert text_of(run(byte_level, ids, skip_special_tokens=False)).startswith("\ufffd</s>")


def test_special_prompt_tokens_do_not_count_as_text(sentencepiece):
    """After bos alone the text begins: its space is stripped, as the library does."""
    bos, word = sentencepiece.bos_token_id, sentencepiece.encode("dog", add_special_tokens=False)
    assert text_of(run(sentencepiece, word, prompt_ids=[bos])) == "dog"
    assert text_of(run(sentencepiece, word, prompt_ids=[bos], skip_special_tokens=False)) == " dog"
    assert text_of(run(sentencepiece, word, prompt_ids=[bos, *word])) == " dog"


def test_spaces_between_special_tokens(wordpiece, byte_level):
    separator, word = wordpiece.token_to_id("[SEP]"), wordpiece.token_to_id("the")
    ids = [separator, separator, word, separator]
    options = {"skip_special_tokens": False}
    assert text_of(run(wordpiece, ids, **options)) == "[SEP] [SEP] the [SEP]"
    assert text_of(run(wordpiece, ids, **options, spaces_between_special_tokens=False)) == "[SEP][SEP] the [SEP]"
    ids = byte_level.encode("<s></s> a")
    assert text_of(run(byte_level, ids, **options, spaces_between_special_tokens=False)) == "<s></s> a"


@given(data=st.data())
def test_generic_families_add_up(any_family, data):
    ids = any_family.encode(data.draw(st.sampled_from(["The lazy dog sleeps.", "def f(x): return x", "Zürich"])))
    assert text_of(run(any_family, ids)) == any_family._backend.decode(ids)


def test_unknown_ids_are_silent(any_family):
    ids = any_family.encode("The dog")
    strange = len(any_family) + 7
    assert text_of(run(any_family, [strange, *ids, strange])) == any_family.decode(ids)
    assert run(any_family, [strange]) == [Span("", (strange,))]
