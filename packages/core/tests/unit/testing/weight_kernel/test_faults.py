from __future__ import annotations

from kernelet.testing.weight_kernel.faults import FAULTS, suite_of
from kernelet.testing.weight_kernel.reference import ReferenceKernel
from kernelet.testing.weight_kernel.suite import WeightKernelSuite


def test_each_is_the_suite_of_a_wrong_kernel():
    assert all(issubclass(fault.suite, WeightKernelSuite) for fault in FAULTS)
    assert suite_of(ReferenceKernel).capabilities.dtypes == ("float64", "bfloat16")
