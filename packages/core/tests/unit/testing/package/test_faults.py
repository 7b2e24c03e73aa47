from __future__ import annotations

from kernelet.testing.package.faults import _PLANTED, FAULTS, GOOD
from kernelet.testing.package.suite import PackageSuite


def test_each_is_the_suite_of_a_wrong_package():
    assert all(issubclass(fault.suite, PackageSuite) for fault in FAULTS)
    assert all(planted != GOOD for _, planted, _ in _PLANTED)
    assert len({repr(planted) for _, planted, _ in _PLANTED}) == len(FAULTS)
