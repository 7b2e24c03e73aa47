from __future__ import annotations

import pytest

from kernelet.cli.serve_load.prompts import Ask, from_file, random_ids, random_words
from kernelet.cli.usage import UsageError


def test_random_ids():
    asks = random_ids(50, 7, 20, 3, seed=1)
    assert {len(ask.prompt) for ask in asks} == {20}
    assert {token for ask in asks for token in ask.prompt} == set(range(7))
    assert len({tuple(ask.prompt) for ask in asks}) == 50
    assert asks == random_ids(50, 7, 20, 3, seed=1) != random_ids(50, 7, 20, 3, seed=2)


def test_random_words():
    asks = random_words(10, 20, 3, seed=1)
    assert {len(ask.prompt.split()) for ask in asks} == {20}
    assert len({ask.prompt for ask in asks}) == 10


def test_bodies():
    text, ids = Ask(prompt="a", output_len=2), Ask(prompt=[1], output_len=2)
    talk = Ask(messages=[{"role": "system", "content": "b"}], output_len=2)
    assert text.body(chat=False) == {"prompt": "a", "max_tokens": 2}
    assert ids.body(chat=False) == {"prompt": [1], "max_tokens": 2}
    assert text.body(chat=True) == {"messages": [{"role": "user", "content": "a"}], "max_tokens": 2}
    assert talk.body(chat=True) == {"messages": [{"role": "system", "content": "b"}], "max_tokens": 2}
    with pytest.raises(UsageError, match="--endpoint completions"):
        ids.body(chat=True)
    with pytest.raises(UsageError, match="--endpoint chat"):
        talk.body(chat=False)


def test_lines_of_a_file(tmp_path):
    file = tmp_path / "asks.jsonl"
    file.write_text('{"prompt": "a", "output_tokens": 5, "more": 1}\n\n{"messages": [{"role": "user"}]}\n')
    first, second = from_file(file, None, 9)
    assert (first.prompt, first.output_len) == ("a", 5)
    assert (second.messages, second.output_len) == ([{"role": "user"}], 9)
    assert from_file(file, 5, 9) == [first, second, first, second, first]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no line"),
        ("{}", "line 1: expected `prompt` or `messages`"),
        ('{"prompt": "a"}\nx', "line 2"),
        (None, "No such"),
    ],
)
def test_a_bad_file(tmp_path, text, message):
    file = tmp_path / "asks.jsonl"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=message):
        from_file(file, None, 1)
