from __future__ import annotations

import pytest

from kernelet_kv_transfer.transport import Transport


def test_a_transport_says_how_it_reads():
    with pytest.raises(TypeError, match="abstract"):
        Transport()
    assert set(Transport.__abstractmethods__) == {"register", "unregister", "metadata", "connect", "read", "close"}
