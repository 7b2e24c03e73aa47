from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.testing.tensors import make_context
from kernelet_platform_cpu import plugin
from kernelet_platform_cpu.native import native


@pytest.fixture
def context():
    """Makes a model's context in which all is computed by the extension."""
    if native() is None:
        pytest.skip("platform-cpu has no kernels of its own here")
    attention = [offer for offer in plugin.kernelet_attention_backends() if offer.name == "native-paged"]
    assert all(isinstance(offer, AttentionOffer) for offer in attention)
    offers = [*attention, *plugin.kernelet_weight_kernels(), *plugin.kernelet_ops()]
    return lambda dtype, **options: make_context(
        dtype=dtype, plugins=FixedPlugins(offers, plugin="platform-cpu"), max_model_len=256, **options
    )
