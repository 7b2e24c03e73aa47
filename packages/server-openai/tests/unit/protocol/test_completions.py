from __future__ import annotations

import json

import pytest

from kernelet_server_openai.protocol.base import read_fields
from kernelet_server_openai.protocol.completions import MAX_PROMPTS, CompletionRequest
from kernelet_server_openai.protocol.errors import ApiError


def request(prompt, **fields):
    return read_fields(CompletionRequest, json.dumps({"prompt": prompt, **fields}).encode())


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("a", ["a"]),
        ("", [""]),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [[1, 2]]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        ([], [[]]),
        ([[]], [[]]),
        ([""], [""]),
    ],
)
def test_forms_of_a_prompt(prompt, expected):
    assert request(prompt).prompts == expected


@pytest.mark.parametrize(
    "prompt",
    [
        None,
        1,
        {},
        [None],
        ["a", 1],
        [1, "a"],
        [1.5],
        [[1.5]],
        [True],
        ["x"] * (MAX_PROMPTS + 1),
        [[1]] * (MAX_PROMPTS + 1),
    ],
)
def test_what_is_no_prompt(prompt):
    with pytest.raises(ApiError) as caught:
        request(prompt)
    assert caught.value.param == "prompt"


def test_a_long_prompt_of_ids_is_one_prompt():
    assert len(request([1] * 5000).prompts) == 1


def test_defaults_are_those_of_openai():
    assert (request("a").max_tokens, request("a", max_tokens=None).max_tokens) == (16, None)


@pytest.mark.parametrize(
    "fields, param",
    [
        ({"suffix": "x"}, "suffix"),
        ({"best_of": 2}, "best_of"),
        ({"best_of": 2, "n": 3}, "best_of"),
    ],
)
def test_what_is_refused(fields, param):
    with pytest.raises(ApiError) as caught:
        request("a", **fields).check_refused()
    assert caught.value.param == param


def test_many_texts_of_many_prompts():
    request(["a"] * 1024, n=2).check_refused()
    with pytest.raises(ApiError, match="2048 texts at most") as caught:
        request(["a"] * 1024, n=3).check_refused()
    assert caught.value.param == "n"


def test_what_changes_nothing_passes():
    request("a", suffix="", best_of=1).check_refused()
    request("a", best_of=3, n=3).check_refused()
