from __future__ import annotations

import numpy as np
import pytest

from kernelet.errors import PromptError
from kernelet.request.prompts import check_prompt_token_ids


@pytest.mark.parametrize("value", [[1, 2], (1, 2), np.array([1, 2]), [np.int32(1), np.uint16(2)], range(1, 3)])
def test_lists_of_integers_pass(value):
    found = check_prompt_token_ids(value, 3)
    assert found == [1, 2]
    assert all(type(index) is int for index in found)


@pytest.mark.parametrize(
    "value, message",
    [
        ([], "empty"),
        (np.array([], dtype=np.int64), "empty"),
        (None, "expected a list"),
        ("abc", "expected a list"),
        (5, "expected a list"),
        ({1, 2}, "expected a list"),
        (np.array([[1]]), "2 dimensions"),
        ([1, "2"], "'2' .* at index 1"),
        ([1.0], "index 0"),
        (np.array([1.0]), "index 0"),
        ([True], "index 0"),
        ([None], "index 0"),
        ([0, 1, True], "index 2"),
        ([0, 3], "3 .*at index 1, which is outside the vocabulary"),
        ([-1], "-1 .*outside the vocabulary"),
        ([10**100], "outside the vocabulary"),
    ],
)
def test_everything_else_is_a_prompt_error(value, message):
    with pytest.raises(PromptError, match=message):
        check_prompt_token_ids(value, 3)


def test_what_was_given_stays_its_givers():
    given = [1, 2]
    found = check_prompt_token_ids(given, 3)
    given.append(99)
    assert found == [1, 2]
