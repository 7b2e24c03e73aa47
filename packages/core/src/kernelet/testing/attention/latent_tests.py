"""What is asked of layers whose heads share one latent vector a token, besides what every layer must do."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernelet.contracts.attention import AttentionSpec
from kernelet.testing.attention.layers import Layers
from kernelet.testing.attention.steps import Requests, hold
from kernelet.testing.suite import Suite
from kernelet.testing.tensors import check_close


class LatentTests(Suite):
    """Part of ``AttentionSuite``."""

    @pytest.fixture
    def latent(self, layers: Layers) -> AttentionSpec:
        """The plainest layer of kind mla."""
        spec = layers.spec(kind="mla")
        if not layers.serves(spec):
            pytest.skip("the offer serves no layers of kind mla")
        return spec

    def test_latent_heads_in_any_number(self, latent: AttentionSpec, layers: Layers, requests: Requests) -> None:
        """Models have 128; ranks that share them fewer, also such as no tile is made of."""
        for heads in (1, 20, 128):
            spec = replace(latent, num_heads=heads)
            says = f"all {heads} heads of a latent layer must share its key"
            hold(requests(spec), ({"a": 5, "b": 1}, {"b": 1, "a": 11}), layers.tolerance(spec), says)

    def test_latent_value_is_of_the_key(self, latent: AttentionSpec, layers: Layers, requests: Requests) -> None:
        for dtype in layers.dtypes:
            spec = replace(latent, dtype=dtype)
            mine = requests(spec)
            for counts in ({"a": 9, "b": 2}, {"b": 1, "a": 1}):
                step = mine.plan(counts)
                metadata = mine.attention.build_metadata(step.batch, mine.device)
                nothing = torch.full_like(step.value, torch.nan)
                mine.attention.write_kv(step.key, nothing, mine.cache, metadata)
                found = mine.attention.forward(step.query, mine.cache, metadata, mine.sinks)
                says = (
                    f"the value of a latent layer is the beginning of its key, whatever write_kv() is given, in {dtype}"
                )
                check_close(found, mine.expected(step), layers.tolerance(spec), says)
