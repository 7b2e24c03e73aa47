from __future__ import annotations

import pytest
import torch

from kernelet.loading.safetensors import SafetensorsReader
from kernelet.testing.model.readers import ChangedReader, WatchedReader, longer, shifted, with_more, without
from kernelet.testing.tiny import write_checkpoint

NAME = "layers.0.norm.weight"


@pytest.fixture
def inner(tmp_path):
    return SafetensorsReader(write_checkpoint(tmp_path))


def test_reads_are_counted(inner):
    watched = WatchedReader(inner)
    assert watched.names() == inner.names()
    assert watched.shape(NAME) == (64,)
    assert watched.nbytes(NAME) == 256
    assert watched.reads == {}
    assert torch.equal(watched.read(NAME, slice(2, 4)), inner.read(NAME)[2:4])
    watched.read(NAME)
    assert watched.reads == {NAME: 2}


def test_a_change_is_all_that_differs(inner):
    assert set(inner.names()) - set(ChangedReader(inner, without(NAME)).names()) == {NAME}
    assert "new" in ChangedReader(inner, with_more("new")).names()
    long = ChangedReader(inner, longer(NAME))
    assert long.shape(NAME) == (65,)
    assert long.nbytes() == inner.nbytes() + 4
    other = ChangedReader(inner, shifted(NAME))
    assert not torch.equal(other.read(NAME), inner.read(NAME))
    assert torch.equal(other.read("head.weight", slice(1, 3)), inner.read("head.weight")[1:3])
    assert other.reads == {NAME: 1, "head.weight": 1}
