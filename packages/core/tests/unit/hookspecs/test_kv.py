from __future__ import annotations


def test_documented(domain):
    domain.check_documented()


def test_parameters(domain):
    assert domain.parameters() == {"kernelet_kv_connectors": []}


def test_returns(domain):
    assert domain.returns() == {"kernelet_kv_connectors": "Sequence[KVConnectorOffer]"}
