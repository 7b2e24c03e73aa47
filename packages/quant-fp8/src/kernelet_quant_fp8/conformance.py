"""The suites of the test kit, on this package."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from kernelet.contracts.quant import QuantizerOffer, QuantLayer, QuantOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.quantization import QuantizationCapabilities, QuantizationSuite
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantization.suite import Excluding, Store
from kernelet.testing.quantizer import QuantizerCapabilities, QuantizerSuite, read_with
from kernelet.testing.quantizer.suite import Read
from kernelet_quant_fp8.rounding import round_weight

__all__ = ["TestBlocks", "TestOutputs", "TestPackage", "TestStatic", "TestWriter"]

PLUGIN = "kernelet_quant_fp8.plugin"


def store_of(block: tuple[int, int], name: str, more: dict[str, Tensor]) -> Store:
    """Writes a weight with scales of a block under a name."""

    def store(_: QuantLayer, weight: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        numbers, scales = round_weight(weight, block)
        rows, columns = weight.shape
        spread = scales.repeat_interleave(block[0] or rows, 0)[:rows]
        spread = spread.repeat_interleave(block[1] or columns, 1)[:, :columns]
        return {"weight": numbers, name: scales, **more}, numbers.double() * spread.double()

    return store


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-quant-fp8"


class Stored(QuantizationSuite):
    """A checkpoint with fp8 weights."""

    __test__ = False

    @pytest.fixture
    def offered(self) -> Offered[QuantOffer]:
        return find_offer(PLUGIN, QuantOffer, "fp8")

    @pytest.fixture
    def excluding(self, offered: Offered[QuantOffer]) -> Excluding | None:
        config = dict(self.capabilities.config or {})
        return lambda entries: method_of(offered, {**config, "ignored_layers": list(entries)})


class TestBlocks(Stored):
    __test__ = True
    capabilities = QuantizationCapabilities(
        config={"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}, error=1e-6
    )

    @pytest.fixture
    def store(self) -> Store:
        return store_of((128, 128), "weight_scale_inv", {})


class TestOutputs(Stored):
    __test__ = True
    capabilities = QuantizationCapabilities(config={"quant_method": "fp8", "activation_scheme": "dynamic"}, error=1e-6)

    @pytest.fixture
    def store(self) -> Store:
        return store_of((1, 0), "weight_scale", {})


class TestStatic(Stored):
    __test__ = True
    capabilities = QuantizationCapabilities(config={"quant_method": "fp8", "activation_scheme": "static"}, error=1e-6)

    @pytest.fixture
    def store(self) -> Store:
        return store_of((0, 0), "weight_scale", {"input_scale": torch.tensor([0.03])})


class TestWriter(QuantizerSuite):
    capabilities = QuantizerCapabilities(error=0.1)

    @pytest.fixture
    def offered(self) -> Offered[QuantizerOffer]:
        return find_offer(PLUGIN, QuantizerOffer)

    @pytest.fixture
    def read(self) -> Read:
        return read_with(partial(method_of, find_offer(PLUGIN, QuantOffer)))
