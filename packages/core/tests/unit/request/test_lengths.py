from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.errors import ParameterError, PromptError
from kernelet.request.lengths import resolve_max_tokens

CONTEXT = 2048


@pytest.mark.parametrize(
    "prompt, asked, expected",
    [
        (1, None, 2047),
        (1, 0, 0),
        (1, 16, 16),
        (1, 2047, 2047),
        (2047, None, 1),
        (2047, 1, 1),
        (2047, 0, 0),
        (2048, 0, 0),
    ],
)
def test_what_fits(prompt, asked, expected):
    assert resolve_max_tokens(prompt, asked, CONTEXT) == expected


@pytest.mark.parametrize(
    "prompt, asked, error, message",
    [
        (0, 16, PromptError, "empty"),
        (0, 0, PromptError, "empty"),
        (2049, 0, PromptError, "2049 tokens, the context holds 2048"),
        (100_000, None, PromptError, "100000 tokens, the context holds 2048"),
        (2048, None, PromptError, "fills the context of 2048"),
        (2048, 1, ParameterError, "leave 0 of the context of 2048"),
        (2047, 2, ParameterError, "leave 1 of the context of 2048: lower it to 1"),
        (8, 2045, ParameterError, "8 tokens leave 2040 of the context of 2048: lower it to 2040"),
    ],
)
def test_what_does_not_fit(prompt, asked, error, message):
    with pytest.raises(error, match=message):
        resolve_max_tokens(prompt, asked, CONTEXT)


@given(st.integers(0, 100), st.none() | st.integers(0, 100), st.integers(1, 60))
def test_the_result_always_fits_and_no_message_has_a_negative_number(prompt, asked, context):
    fits = prompt > 0 and prompt + (1 if asked is None else asked) <= context
    if fits:
        found = resolve_max_tokens(prompt, asked, context)
        assert prompt + found <= context
        assert found == (context - prompt if asked is None else asked)
    else:
        with pytest.raises((PromptError, ParameterError), match=r"^[^-]*$"):
            resolve_max_tokens(prompt, asked, context)
