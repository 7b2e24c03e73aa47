from __future__ import annotations

from kernelet.kernel.imports import import_string
from kernelet.testing.plain4 import plugin
from kernelet.testing.quantization.reference import PLAIN4, Plain4


def test_the_offer_is_the_reference():
    (offer,) = plugin.kernelet_quantization_methods()
    assert import_string(offer.target) is Plain4
    assert (offer.name, offer.names, offer.online) == (PLAIN4, (PLAIN4,), False)
