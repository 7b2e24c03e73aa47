from __future__ import annotations

import pytest

from kernelet.errors import ParameterError, PromptError
from kernelet.scheduler.validation import check_request
from kernelet.testing.null.harness import null_request


@pytest.mark.parametrize("prompt, max_tokens", [(1, 0), (1, 9), (10, 0), (9, 1), (5, 5)])
def test_fits(prompt, max_tokens):
    check_request(null_request("r", [1] * prompt, max_tokens), 10)


@pytest.mark.parametrize(
    "prompt, max_tokens, error, text",
    [
        (0, 1, PromptError, "empty"),
        (11, 0, PromptError, "the prompt has 11 tokens, the context only 10"),
        (5, -1, ParameterError, "max_tokens: must be at least 0, not -1"),
        (5, 6, ParameterError, "max_tokens: 6 tokens after a prompt of 5.*at most 5"),
        (10, 1, ParameterError, "at most 0"),
    ],
)
def test_does_not_fit(prompt, max_tokens, error, text):
    with pytest.raises(error, match=text):
        check_request(null_request("r", [1] * prompt, max_tokens), 10)


def test_what_is_pooled():
    check_request(null_request("r", [1], 0, pooling="mean"), 10)
    with pytest.raises(ParameterError, match=r"^pooling: got 'cls', expected one of last, mean"):
        check_request(null_request("r", [1], 0, pooling="cls"), 10)
    with pytest.raises(ParameterError, match="must be 0 where a prompt is pooled, not 2"):
        check_request(null_request("r", [1], 2, pooling="last"), 10)
