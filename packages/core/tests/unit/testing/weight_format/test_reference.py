from __future__ import annotations

import json

import pytest
import torch

from kernelet.errors import WeightsError
from kernelet.testing.weight_format.reference import PlainReader, raw_bytes, read_header, write_plain


def test_a_file_is_a_line_and_bytes(tmp_path):
    tensors = {"a": torch.tensor([1, -2], dtype=torch.int8), "b": torch.tensor([[0.5]])}
    write_plain(tmp_path, tensors)
    line, _, rest = (tmp_path / "weights.plain").read_bytes().partition(b"\n")
    assert json.loads(line)["tensors"] == {"a": ["int8", [2], 0], "b": ["float32", [1, 1], 2]}
    assert rest == b"\x01\xfe" + b"\x00\x00\x00\x3f"
    assert raw_bytes(tensors["b"]) == rest[2:]
    reader = PlainReader(tmp_path)
    assert reader.read("a").tolist() == [1, -2]
    assert reader.read("b").tolist() == [[0.5]]
    assert reader.nbytes() == 6


def test_a_lost_byte_is_noticed(tmp_path):
    write_plain(tmp_path, {"a": torch.ones(3)})
    file = tmp_path / "weights.plain"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(WeightsError, match=r"weights\.plain is damaged"):
        read_header(file)
