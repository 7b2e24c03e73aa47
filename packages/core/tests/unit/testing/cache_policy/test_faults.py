from __future__ import annotations

from kernelet.contracts.cache import CachePolicyOffer
from kernelet.testing.cache_policy.faults import FAULTS, suite_of
from kernelet.testing.cache_policy.suite import CachePolicySuite


def test_each_is_the_suite_of_a_wrong_policy():
    assert all(issubclass(fault.suite, CachePolicySuite) for fault in FAULTS)
    assert suite_of(dict).__name__ == "Faulty"
    assert CachePolicyOffer(name="faulty", target="a:b").name == "faulty"
