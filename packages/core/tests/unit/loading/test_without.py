from __future__ import annotations

import pytest
import torch
from as_is import InMemory

from kernelet.errors import PluginError
from kernelet.loading.without import Without

TENSORS = {"a.weight": torch.ones(2, 3), "a.k_scale": torch.ones(1), "b.k_scale": torch.ones(1)}


def test_what_matches_is_hidden():
    whole = InMemory(TENSORS)
    reader = Without(whole, {r".*\.k_scale": "of a cache", "weight": "no whole name"})
    assert list(reader.names()) == ["a.weight"]
    assert (reader.nbytes(), reader.nbytes("a.weight")) == (24, 24)
    assert (reader.shape("a.weight"), reader.identity("a.weight")) == ((2, 3), whole.identity("a.weight"))
    assert torch.equal(reader.read("a.weight", slice(1, 2)), torch.ones(1, 3))
    assert reader.mapped_bytes() == 0


def test_nothing_is_hidden_without_patterns():
    assert list(Without(InMemory(TENSORS), {}).names()) == sorted(TENSORS)


def test_a_pattern_that_is_none_is_named():
    with pytest.raises(PluginError, match=r"'\(', of tensors to ignore, is no regular expression"):
        Without(InMemory(TENSORS), {"(": ""})
