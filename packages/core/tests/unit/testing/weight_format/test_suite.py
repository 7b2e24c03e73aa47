from __future__ import annotations

import pytest
import torch

from kernelet.errors import WeightsError
from kernelet.testing.verdict import ConformanceError
from kernelet.testing.weight_format.reference import PlainReader, write_plain
from kernelet.testing.weight_format.suite import compare, read_all, read_in_threads, refusal


@pytest.fixture
def tensors(tmp_path):
    made = {"a": torch.randn(4, 4), "b": torch.arange(3)}
    write_plain(tmp_path, made)
    return made


def test_compare_holds_a_reader_against_what_was_written(tensors, tmp_path):
    reader = PlainReader(tmp_path)
    compare(reader, tensors)
    with pytest.raises(ConformanceError, match="bit for bit"):
        compare(reader, tensors | {"a": torch.randn(4, 4)})
    with pytest.raises(ConformanceError, match=r"shape\(\) must be"):
        compare(reader, tensors | {"a": torch.randn(4, 5)})
    assert set(read_all(reader)) == {"a", "b"}


def test_refusal_is_about_the_kind():
    def fail(error):
        raise error

    assert refusal(lambda: fail(WeightsError("no"))) == "no"
    assert refusal(lambda: fail(KeyError("no"))) is None
    assert refusal(lambda: None) is None


def test_threads_that_fail_are_seen(tensors, tmp_path):
    reader = PlainReader(tmp_path)
    assert read_in_threads(reader, tensors, threads=2, rounds=2) == [True, True]
    assert read_in_threads(reader, tensors | {"b": torch.arange(1, 4)}, threads=2, rounds=1) == [False, False]
