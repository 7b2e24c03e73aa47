"""Checks of prompt token ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelet.errors import PromptError
from kernelet.request.values import is_integer, shown


def check_prompt_token_ids(value: object, vocab_size: int) -> list[int]:
    """The ids as Python's own integers.

    Raises:
        PromptError: it is no list, empty, or holds something that is no id of the vocabulary.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
        raise PromptError(f"the prompt's token ids are {shown(value)}, expected a list of integers")
    if isinstance(value, np.ndarray) and value.ndim != 1:
        raise PromptError(f"the prompt's token ids are an array of {value.ndim} dimensions, expected one")
    if len(value) == 0:
        raise PromptError("the prompt is empty: give at least one token")
    if type(value) is list and set(map(type, value)) == {int} and min(value) >= 0 and max(value) < vocab_size:
        return value.copy()
    for place, index in enumerate(value):
        if not is_integer(index):
            raise PromptError(f"the prompt's token ids hold {shown(index)} at index {place}, expected an integer")
        if not 0 <= int(index) < vocab_size:
            raise PromptError(
                f"the prompt's token ids hold {shown(int(index))} at index {place}, "
                f"which is outside the vocabulary (0 to {vocab_size - 1})"
            )
    return [int(index) for index in value]
