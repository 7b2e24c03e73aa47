from __future__ import annotations

from kernelet_kv_transfer.options import options


def test_each_connector_has_its_own():
    one, other = options(), options()
    assert one == other and one is not other
    assert set(one) == {"host", "port", "lease", "buffers", "buffer_mib", "after_part"}
    assert all(option.help and option.default is not None for option in one.values())
