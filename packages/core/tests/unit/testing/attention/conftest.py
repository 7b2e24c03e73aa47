from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.attention.layers import AttentionCapabilities, Layers


@pytest.fixture
def layers():
    offer = AttentionOffer(name="x", target="x:y", kinds=frozenset({"full", "sliding"}), soft_cap=True, sinks=True)
    return Layers(offer, AttentionCapabilities())
