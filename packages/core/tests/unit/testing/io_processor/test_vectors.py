from __future__ import annotations

import numpy as np
import pytest

from kernelet.contracts.pooling import PoolingParams
from kernelet.errors import PromptError
from kernelet.testing.io_processor.vectors import encode, make_context, pooled, token_ids, vector


def test_a_vector_is_a_function_of_the_prompt():
    params = PoolingParams(pooling="last")
    assert np.array_equal(vector([1, 2], params, 8), vector([1, 2], params, 8))
    assert not np.array_equal(vector([1, 2], params, 8), vector([2, 1], params, 8))
    assert not np.array_equal(vector([1, 2], params, 8), vector([1, 2], PoolingParams(pooling="mean"), 8))
    assert len(vector([1], PoolingParams(dimensions=3), 8)) == 3
    assert np.linalg.norm(vector([1], PoolingParams(normalize=True), 8)) == pytest.approx(1)


def test_prompts_in_every_form():
    assert token_ids("ab") == token_ids({"prompt": "ab"}) == token_ids([97, 98]) == encode("ab")
    assert token_ids({"prompt_token_ids": [5]}) == [5]
    for wrong in ("", [], {"text": "a"}, None, 3):
        with pytest.raises(PromptError):
            token_ids(wrong)


def test_outputs_are_in_the_order_of_their_prompts_and_their_ids_are_not():
    found = pooled(["a", "b"], PoolingParams(), 4, first=10)
    assert [output.prompt_token_ids for output in found] == [[97], [98]]
    assert [output.request_id for output in found] == ["request-10", "request-9"]
    assert not np.any(pooled(["a"], PoolingParams(), 4, nothing=True)[0].outputs.data)


def test_a_context():
    context = make_context({"model_type": "x"}, 12)
    assert (context.model.hidden_size, context.model.hf_config) == (12, {"model_type": "x"})
    assert context.encode("é") == [0xC3, 0xA9]
    assert context.encode("\ud800") == [0xED, 0xA0, 0x80]
