from __future__ import annotations

import pytest
import torch

from kernelet.testing.kv_connector.pages import plain_layout
from kernelet.testing.kv_connector.requests import KitRequest, truth


def request(**facts):
    return KitRequest("r", [5, 6, 7, 8], 4, **facts)


def test_keys_are_a_function_of_all_facts():
    keys = [request().key(count) for count in (1, 2, 3, 4)]
    assert len({*keys}) == 4
    assert {len(key) for key in keys} == {32}
    assert request(cache_salt="a").key(4) != request(adapter="a").key(4) != keys[3]
    seen_later = request(media=((2, "picture"),))
    assert [seen_later.key(count) == keys[count - 1] for count in (1, 2, 3, 4)] == [True, True, False, False]
    for wrong in (0, 5):
        with pytest.raises(ValueError, match="have no key"):
            request().key(wrong)


def test_truth_is_that_of_each_token_and_rank():
    whole = plain_layout(num_kv_heads=4, dtype="bfloat16", scales="float32")
    parts = truth(request(), whole, "layers.0", 1, 4)
    assert [tuple(part.shape) for part in parts] == [(3, 4, 8), (3, 4, 8), (3, 4, 1), (3, 4, 1)]
    assert [part.dtype for part in parts] == [torch.bfloat16] * 2 + [torch.float32] * 2
    assert torch.equal(truth(request(), whole, "layers.0", 2, 3)[0], parts[0][1:2])
    assert not torch.equal(truth(request(), whole, "layers.1", 1, 4)[0], parts[0])
    for rank in (0, 1):
        mine = plain_layout(num_kv_heads=2, rank=rank, world_size=2, dtype="bfloat16")
        assert torch.equal(truth(request(), mine, "layers.0", 1, 4)[1], parts[1][:, 2 * rank : 2 * rank + 2])
