from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.testing.attention.kept import FORMS, LARGEST, SlowKept, changes_of
from kernelet.testing.attention.kept_tests import _vectors, expected, give_back
from kernelet.testing.attention.steps import PagedRequests
from kernelet.testing.offered import Offered


@pytest.mark.parametrize("form", FORMS)
def test_vectors_hold_all_the_numbers(layers, form):
    spec = layers.spec(**changes_of(form))
    numbers = torch.arange(1, 60).double()
    vectors = _vectors(numbers, spec)
    assert vectors.shape[1:] == (spec.num_kv_heads, spec.head_size)
    assert set(numbers.tolist()) <= set(vectors.flatten().tolist())
    if spec.cache_scales == "token_head":
        assert (vectors[..., -1] == LARGEST[spec.cache_dtype] / 4).all()


@pytest.mark.parametrize("form", FORMS)
def test_one_token_gives_its_value_back(layers, form):
    offered = Offered(offer=layers.offer, settings=Settings(plugin="x"), target=SlowKept)
    spec = layers.spec(num_kv_heads=2, **changes_of(form))
    mine = PagedRequests(offered, spec, "cpu", scales=(1.0, 0.5))
    vectors = _vectors(torch.linspace(-50, 50, 33), spec)
    torch.testing.assert_close(give_back(mine, vectors), expected(mine, vectors), rtol=1e-12, atol=1e-12)
    assert not torch.equal(expected(mine, vectors), vectors)
