from __future__ import annotations

import pytest
import torch

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.attention.layers import AttentionCapabilities, Layers
from kernelet.testing.attention.steps import PagedRequests, play
from kernelet.testing.offered import find_offer

PLUGIN = "kernelet_attention_flex.plugin"


def requests(compile_, **changes):
    offered = find_offer(PLUGIN, AttentionOffer, compile=compile_)
    spec = Layers(offered.offer, AttentionCapabilities()).spec(dtype="float32", **changes)
    return PagedRequests(offered, spec, "cpu")


@pytest.mark.parametrize(
    "compile_, device, compiled",
    [("auto", "cpu", False), ("auto", "cuda", True), ("on", "cpu", True), ("off", "cuda", False)],
)
def test_when_it_is_compiled(compile_, device, compiled):
    assert requests(compile_).attention._is_compiled(torch.device(device)) is compiled


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_compiled_it_gives_the_same():
    """On a CPU torch's compiler serves it too, in float32."""
    steps = [{"a": 7, "b": 3}, {"a": 1, "b": 1}, {"a": 9}]
    options = {"num_kv_heads": 2, "head_size": 16, "window": 6}
    plain, fused = (play(requests(compile_, **options), steps) for compile_ in ("off", "on"))
    for name, wanted in plain.items():
        assert torch.allclose(fused[name], wanted, atol=1e-5)
