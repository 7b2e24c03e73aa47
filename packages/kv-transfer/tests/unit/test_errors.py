from __future__ import annotations

from kernelet.errors import KerneletError
from kernelet_kv_transfer.errors import AbandonedError, TransferError


def test_an_abandoned_read_says_whether_it_is_settled():
    error = AbandonedError("given up", lambda: False)
    assert isinstance(error, TransferError) and isinstance(error, KerneletError)
    assert str(error) == "given up" and error.settled() is False
