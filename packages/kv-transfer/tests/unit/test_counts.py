from __future__ import annotations

from kernelet_kv_transfer.counts import Counts


def test_sums_since_the_last_look():
    counts = Counts()
    counts.add("loads")
    counts.add("bytes", 5)
    counts.add("bytes", 6)
    assert counts.take() == {"loads": 1.0, "bytes": 11.0}
    assert counts.take() == {}
