from __future__ import annotations

import numpy as np
import pytest

from kernelet.engine.prompts import ParsedPrompt, parse_prompt, split_prompts
from kernelet.errors import PromptError


@pytest.mark.parametrize(
    "given, text, ids",
    [
        ("hi", "hi", None),
        ({"prompt": "hi"}, "hi", None),
        ([1, 2], None, [1, 2]),
        ({"prompt_token_ids": [1, 2]}, None, [1, 2]),
        ({"prompt": "hi", "prompt_token_ids": [1]}, "hi", [1]),
    ],
)
def test_forms_of_a_prompt(given, text, ids):
    parsed = parse_prompt(given)
    assert (parsed.text, parsed.token_ids) == (text, ids)


def test_a_parsed_prompt_stays_as_it_is():
    parsed = ParsedPrompt(text="x", add_special_tokens=False)
    assert parse_prompt(parsed) is parsed


def test_salt():
    assert parse_prompt({"prompt": "hi", "cache_salt": "s"}).cache_salt == "s"
    assert parse_prompt({"prompt": "hi", "kv_transfer_params": {"a": 1}}).kv_transfer_params == {"a": 1}
    assert parse_prompt({"prompt": "hi", "add_special_tokens": False}).add_special_tokens is False
    assert parse_prompt({"prompt": "hi"}).add_special_tokens


@pytest.mark.parametrize(
    "given, message",
    [
        (None, "expected text"),
        (5, "expected text"),
        (b"x", "expected text"),
        ({}, "give one of them"),
        ({"prompt": None}, "give one of them"),
        ({"promt": "x"}, "unknown key 'promt'"),
        ({"prompt": 5}, "expected a string"),
        ({"prompt": "x", "cache_salt": 5}, "cache_salt"),
        ({"prompt": "x", "add_special_tokens": 1}, "add_special_tokens"),
    ],
)
def test_anything_else_is_a_prompt_error(given, message):
    with pytest.raises(PromptError, match=message):
        parse_prompt(given)


@pytest.mark.parametrize(
    "given, count",
    [("a", 1), (["a", "b"], 2), ([1, 2, 3], 1), ([[1], [2, 3]], 2), ({"prompt": "a"}, 1), ([], 0), ((1, 2), 1)],
)
def test_one_prompt_or_several(given, count):
    assert len(split_prompts(given)) == count


def test_an_array_is_one_prompt():
    assert len(split_prompts(np.array([1, 2]))) == 1


@pytest.mark.parametrize("given", [None, 5, b"x"])
def test_what_is_no_list_of_prompts(given):
    with pytest.raises(PromptError):
        split_prompts(given)
