from __future__ import annotations

import numpy as np
import pytest

from kernelet.testing.grammar_engine.vocabulary import make_vocabulary
from kernelet_structured_guidance.tokens import SPECIAL, Tokens, allowed_row


def test_the_token_that_ends_texts_is_beyond_the_vocabulary():
    tokens = Tokens(make_vocabulary([b"a", b"", b"b"], [1]))

    assert list(tokens.tokens) == [b"a", b"", b"b", SPECIAL]
    assert tokens.tokens[tokens.eos_token_id] == SPECIAL


@pytest.mark.parametrize("num_tokens", [1, 31, 32, 33, 64, 65])
def test_rows_allow_the_tokens_that_have_bytes(num_tokens):
    row = allowed_row(make_vocabulary([b"a" if number % 3 else b"" for number in range(num_tokens)]))

    assert (row.dtype, len(row)) == (np.int32, -(-num_tokens // 32))
    bits = [int(row[place // 32]) >> place % 32 & 1 for place in range(32 * len(row))]
    assert bits == [int(place < num_tokens and place % 3 != 0) for place in range(32 * len(row))]
