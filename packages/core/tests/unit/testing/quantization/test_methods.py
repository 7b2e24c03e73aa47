from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantOffer
from kernelet.testing.offered import Offered
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantization.reference import PLAIN4, Plain4
from kernelet.testing.verdict import ConformanceError

SETTINGS = Settings(plugin="p", values={"a": 1})


def offered(target):
    return Offered(offer=QuantOffer(name="mine", target="a:B"), settings=SETTINGS, target=target)


def test_it_is_given_what_the_engine_gives():
    config = {"quant_method": PLAIN4, "skip": []}
    method = method_of(offered(Plain4), config)
    assert type(method) is Plain4
    assert (method.settings, method.config) == (SETTINGS, config)
    assert (method.model.quantization, method.model.quantization_config) == ("mine", config)


@pytest.mark.parametrize("target", [object, Plain4.scheme])
def test_what_is_no_method(target):
    with pytest.raises(ConformanceError, match="a:B is no QuantizationMethod"):
        method_of(offered(target), None)
