from __future__ import annotations

from kernelet.testing.kv_connector.faults import FAULTS, handing, suite_of
from kernelet.testing.kv_connector.suite import KVConnectorSuite


def test_each_is_the_suite_of_a_wrong_connector():
    assert all(issubclass(fault.suite, KVConnectorSuite) for fault in FAULTS)
    assert len(FAULTS) >= 10
    assert suite_of().capabilities.keeps
    assert not handing().capabilities.keeps
