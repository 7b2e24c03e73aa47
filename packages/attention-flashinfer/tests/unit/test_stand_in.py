from __future__ import annotations

import pytest
import torch

from kernelet.testing.attention.varlen import attend_varlen
from kernelet_attention_flashinfer.stand_in import BatchDecodeWithPagedKVCacheWrapper


class Decode(BatchDecodeWithPagedKVCacheWrapper):
    truth = staticmethod(attend_varlen)


def planned(**changes):
    """Two requests, with 19 keys and with 3."""
    wrapper = Decode(torch.zeros(8, dtype=torch.uint8), "NHD", use_tensor_cores=True)
    values = {
        "indptr": torch.tensor([0, 2, 3], dtype=torch.int32),
        "indices": torch.tensor([4, 1, 2], dtype=torch.int32),
        "last_page_len": torch.tensor([3, 3], dtype=torch.int32),
        "num_qo_heads": 4,
        "num_kv_heads": 2,
        "head_dim": 64,
        "page_size": 16,
    }
    wrapper.plan(**{**values, **changes})
    return wrapper


def run(wrapper, query=None, dtype=torch.float16):
    pages = tuple(torch.randn(5, 16, 2, 64).to(dtype) for _ in range(2))
    return wrapper.run(torch.randn(2, 4, 64).half() if query is None else query, pages)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"indptr": torch.tensor([0, 2, 3])}, "must be int32"),
        ({"indices": torch.tensor([4, 1], dtype=torch.int32)}, "must end at the number of pages"),
        ({"last_page_len": torch.tensor([0, 3], dtype=torch.int32)}, "1 <= last_page_len <= page_size"),
        ({"head_dim": 96}, "head_dim must be 64, 128 or 256"),
        ({"q_data_type": torch.float32}, "must be float16 or bfloat16"),
        ({"pos_encoding_mode": "ALIBI"}, "not of this stand-in"),
    ],
)
def test_what_the_library_refuses(changes, message):
    assert run(planned()).isfinite().all()
    with pytest.raises(ValueError, match=message):
        planned(**changes)


def test_what_is_run_must_be_as_planned():
    with pytest.raises(ValueError, match="pages must be of the planned dtype"):
        run(planned(), dtype=torch.bfloat16)
    with pytest.raises(ValueError, match="queries must be contiguous"):
        run(planned(), torch.randn(2, 64, 4).half().transpose(1, 2))
