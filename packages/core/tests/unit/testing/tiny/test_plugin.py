from __future__ import annotations

from kernelet.contracts.model import ModelArchitectureOffer
from kernelet.testing.offered import find_offer
from kernelet.testing.tiny.description import describe
from kernelet.testing.tiny.model import TinyModel
from kernelet.testing.tiny.plugin import ARCHITECTURE


def test_the_offer_names_the_model():
    offered = find_offer("kernelet.testing.tiny:plugin", ModelArchitectureOffer)
    assert offered.offer.name == ARCHITECTURE
    assert offered.target is TinyModel
    assert offered.offer.describe == f"{describe.__module__}:{describe.__qualname__}"
