from __future__ import annotations

from kernelet.testing.op.faults import FAULTS, fine, suite_of
from kernelet.testing.op.suite import OpSuite


def test_each_is_the_suite_of_a_wrong_op():
    assert all(issubclass(fault.suite, OpSuite) for fault in FAULTS)
    assert not suite_of("rms_norm", fine).capabilities.batch_invariant
