from __future__ import annotations

from kernelet.kernel.imports import import_string
from kernelet.testing.platform.faults import FAULTS, null_suite, reference_suite
from kernelet.testing.platform.suite import PlatformSuite


def test_each_is_the_suite_of_a_wrong_platform():
    assert all(issubclass(fault.suite, PlatformSuite) for fault in FAULTS)
    assert issubclass(null_suite({}), PlatformSuite)
    assert issubclass(reference_suite(), PlatformSuite)


def test_probes_that_are_wrong_still_answer():
    for name in ("with_torch", "without_reason", "slow", "watching"):
        assert import_string(f"kernelet.testing.platform.faults:{name}")().available
