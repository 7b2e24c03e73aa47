from __future__ import annotations

from kernelet.testing.attention.faults import FAULTS, suite_of
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.attention.suite import AttentionSuite


def test_each_is_the_suite_of_a_wrong_attention():
    assert all(issubclass(fault.suite, AttentionSuite) for fault in FAULTS)
    assert suite_of(SlowAttention).capabilities.batch_invariant
