from __future__ import annotations

from scripted_engine import choice, lp

from kernelet_server_openai.serving.cursor import Cursor


def test_each_piece_is_told_once():
    cursor = Cursor()
    one = cursor.advance(choice("ab", (1,), logprobs=[{1: lp("a")}]))
    two = cursor.advance(choice("abc", (1, 2, 3), logprobs=[{1: lp("a")}, {2: lp("b")}, {3: lp("c")}]))
    assert (one.text, one.token_ids, two.text, two.token_ids) == ("ab", [1], "c", [2, 3])
    assert [list(entry) for entry in two.logprobs] == [[2], [3]]


def test_the_end_is_told_once():
    cursor, ended = Cursor(), choice("a", (1,), finish_reason="stop")
    assert cursor.advance(ended).finished
    again = cursor.advance(ended)
    assert not again.finished
    assert not again.shows(tokens=True)


def test_what_a_client_sees():
    cursor = Cursor()
    held = cursor.advance(choice("", (1,)))
    assert not held.shows(tokens=False)
    assert held.shows(tokens=True)
    assert cursor.advance(choice("", (1,), finish_reason="stop")).shows(tokens=False)
