from __future__ import annotations


def test_documented(domain):
    domain.check_documented()


def test_parameters(domain):
    assert domain.parameters() == {"kernelet_servers": [], "kernelet_endpoints": []}


def test_returns(domain):
    assert domain.returns() == {
        "kernelet_servers": "Sequence[ServerOffer]",
        "kernelet_endpoints": "Sequence[EndpointOffer]",
    }
