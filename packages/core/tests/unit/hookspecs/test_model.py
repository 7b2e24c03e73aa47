from __future__ import annotations


def test_documented(domain):
    domain.check_documented()


def test_parameters(domain):
    assert domain.parameters() == {
        "kernelet_model_architectures": [],
        "kernelet_model_sources": [],
        "kernelet_weight_formats": [],
    }


def test_returns(domain):
    assert domain.returns() == {
        "kernelet_model_architectures": "Sequence[ModelArchitectureOffer]",
        "kernelet_model_sources": "Sequence[ModelSourceOffer]",
        "kernelet_weight_formats": "Sequence[WeightFormatOffer]",
    }
