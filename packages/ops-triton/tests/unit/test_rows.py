from __future__ import annotations

import pytest
import torch

from kernelet_ops_triton.rows import rows_of, vectors_of

X = torch.arange(2 * 5 * 8.0).view(2, 5, 8)
VIEWS = {
    "contiguous": X,
    "rows": X[0],
    "a part of rows": X[0][:, :3],
    "heads": X[:, 1:4],
    "a part of heads": X[:, 1:4, 2:6],
    "turned": X.transpose(0, 1),
    "of no constant distance": X.unsqueeze(0).expand(2, 2, 5, 8)[..., :4],
    "elements apart": X[..., ::2],
    "one vector": X[0, 0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_strides_find_every_vector(name):
    x = VIEWS[name]
    found = vectors_of(x)
    flat = x.reshape(-1, x.shape[-1])
    assert found.number == len(flat)
    memory, start = found.tensor.untyped_storage(), found.tensor.storage_offset()
    numbers = torch.empty(0).set_(memory)
    for index, vector in enumerate(flat):
        at = start + index // found.inner * found.outer_stride + index % found.inner * found.inner_stride
        assert torch.equal(numbers[at : at + x.shape[-1]], vector)


def test_views_are_not_copied():
    for name in ("contiguous", "a part of rows", "heads"):
        assert vectors_of(VIEWS[name]).tensor is VIEWS[name]


def test_rows_are_copied_only_where_elements_lie_apart():
    assert rows_of(VIEWS["a part of rows"]) is VIEWS["a part of rows"]
    assert rows_of(X[0].T).is_contiguous()
