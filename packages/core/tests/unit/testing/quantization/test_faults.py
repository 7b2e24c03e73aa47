from __future__ import annotations

from kernelet.testing.quantization.faults import FAULTS, offered_of, suite_of, suite_of_format
from kernelet.testing.quantization.suite import QuantizationSuite


def test_each_is_the_suite_of_a_wrong_method():
    assert all(issubclass(fault.suite, QuantizationSuite) for fault in FAULTS)
    assert suite_of(dict).__name__ == suite_of_format(dict).__name__ == "Faulty"
    assert offered_of(dict, names=("a",)).offer.names == ("a",)
