from __future__ import annotations

import pytest

from kernelet.contracts.graphs import CapturesDecode


def test_what_it_must_have():
    assert CapturesDecode.__abstractmethods__ == {"decode_metadata", "refill"}
    with pytest.raises(TypeError, match="abstract"):
        CapturesDecode()
