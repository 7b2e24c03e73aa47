from __future__ import annotations

from kernelet.testing.reasoning_parser.faults import FAULTS


def test_at_least_ten():
    assert len(FAULTS) >= 10
