from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_engine import lp

from kernelet_server_openai.serving.logprobs import (
    CompletionLogprobsWriter,
    chat_logprobs,
    finite,
    prompt_logprobs,
    token_text,
)

EURO = "€".encode()


def writer(count=1, *, as_ids=False, hidden=()):
    return CompletionLogprobsWriter(count, as_ids=as_ids, is_hidden=lambda index: index in hidden)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_say_is_null(value):
    assert finite(value) is None
    (entry,) = chat_logprobs([{1: lp("a", value)}], 1)["content"]
    assert entry["logprob"] is None
    assert entry["top_logprobs"][0]["logprob"] is None
    assert prompt_logprobs([None, {1: lp("a", value)}])[1]["1"]["logprob"] is None
    found = writer().write([{1: lp("a", value)}], [1], [b""])
    assert (found["token_logprobs"], found["top_logprobs"]) == ([None], [{"a": None}])


def test_chats_tell_real_bytes():
    found = chat_logprobs([{1: lp(EURO[:2])}, {2: lp(EURO[2:])}], 0)
    assert b"".join(bytes(entry["bytes"]) for entry in found["content"]) == EURO
    assert [entry["top_logprobs"] for entry in found["content"]] == [[], []]


def test_a_chosen_token_beyond_the_best_is_not_among_them():
    position = {9: lp("z", -9.0, 9), 1: lp("a", -1.0, 1), 2: lp("b", -2.0, 2)}
    (entry,) = chat_logprobs([position], 2)["content"]
    assert entry["token"] == "z"
    assert [other["token"] for other in entry["top_logprobs"]] == ["a", "b"]


def test_a_chosen_token_among_the_best_stands_in_order():
    position = {2: lp("b", -2.0, 2), 1: lp("a", -1.0, 1)}
    (entry,) = chat_logprobs([position], 2)["content"]
    assert [other["token"] for other in entry["top_logprobs"]] == ["a", "b"]


def test_all_candidates():
    position = {9: lp("z", -9.0, 9), 1: lp("a", -1.0, 1)}
    (entry,) = chat_logprobs([{**position}], -1)["content"]
    assert len(entry["top_logprobs"]) == 1
    top = writer(-1).write([position], [9], [b""])["top_logprobs"]
    assert top == [{"a": -1.0, "z": -9.0}]


def test_tokens_as_ids():
    (entry,) = chat_logprobs([{7: lp("a")}], 1, as_ids=True)["content"]
    assert entry["token"] == entry["top_logprobs"][0]["token"] == "token_id:7"
    found = writer(as_ids=True).write([{7: lp("a")}], [7], [b""])
    assert (found["tokens"], found["top_logprobs"]) == (["token_id:7"], [{"token_id:7": -1.0}])


def test_bytes_that_are_no_character():
    assert token_text("é".encode()) == "é"
    assert token_text(EURO[:2]) == r"bytes:\xe2\x82"


def test_completions_tell_the_chosen_token_too():
    position = {9: lp("z", -9.0, 9), 1: lp("a", -1.0, 1)}
    assert writer(1).write([position], [9], [b""])["top_logprobs"] == [{"a": -1.0, "z": -9.0}]


def test_the_first_token_of_a_prompt_has_none():
    found = writer().write([None, {2: lp("b")}], [1, 2], [b"a", b""])
    assert found == {
        "text_offset": [0, 1],
        "token_logprobs": [None, -1.0],
        "tokens": ["a", "b"],
        "top_logprobs": [None, {"b": -1.0}],
    }


def test_hidden_tokens_take_no_room():
    found = writer(hidden={5}).write([{5: lp("<s>")}, {1: lp("a")}, {2: lp("b")}], [5, 1, 2], [b"", b"", b""])
    assert found["text_offset"] == [0, 0, 1]


@given(st.text(max_size=12), st.data())
def test_offsets_are_those_of_the_text_however_it_is_cut(text, data):
    """A character that several tokens spell belongs to the one that completes it."""
    whole = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    growing, found = writer(), []
    for index, piece in enumerate(pieces):
        found += growing.write([{index: lp(piece)}], [index], [b""])["text_offset"]
    done = [len(whole[:cut].decode("utf-8", "ignore")) for cut in [0, *cuts]]
    assert found == done


@given(st.text(min_size=1, max_size=8))
def test_offsets_of_a_prompt_are_those_of_the_tokenizers_text(engine, text):
    """Its first token has no log-probability, and may be a part of a character."""
    tokenizer = engine.get_tokenizer()
    ids = tokenizer.encode(text, add_special_tokens=False)
    spelled = [tokenizer.token_bytes(index) for index in ids]
    positions = [None, *({index: lp(piece)} for index, piece in zip(ids[1:], spelled[1:], strict=True))]
    found = writer().write(positions, ids, [spelled[0], *[b""] * (len(ids) - 1)])
    whole = [
        tokenizer.decode(ids[:count]).removesuffix("�" * (not ends_whole(spelled[:count]))) for count in range(len(ids))
    ]
    assert found["text_offset"] == [len(one) for one in whole]
    assert found["tokens"] == [token_text(piece) for piece in spelled]


def ends_whole(pieces):
    """Whether bytes end with a whole character."""
    try:
        b"".join(pieces).decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.binary(max_size=6), st.floats(), st.integers(0, 3))
def test_everything_is_json(piece, value, count):
    position = {3: lp(piece, value)}
    json.loads(json.dumps(chat_logprobs([position], count), allow_nan=False))
    json.loads(json.dumps(writer(count).write([position], [3], [b""]), allow_nan=False))
    json.loads(json.dumps(prompt_logprobs([position]), allow_nan=False))
