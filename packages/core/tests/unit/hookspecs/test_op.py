from __future__ import annotations


def test_documented(domain):
    domain.check_documented()


def test_parameters(domain):
    assert domain.parameters() == {
        "kernelet_ops": [],
        "kernelet_weight_kernels": [],
    }


def test_returns(domain):
    assert domain.returns() == {
        "kernelet_ops": "Sequence[OpOffer]",
        "kernelet_weight_kernels": "Sequence[WeightKernelOffer]",
    }
