"""The suites of the test kit, on this package."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import pytest
from torch import Tensor

from kernelet.contracts.quant import QuantizerOffer, QuantLayer, QuantOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.quantization import QuantizationCapabilities, QuantizationSuite
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantization.suite import Store
from kernelet.testing.quantizer import QuantizerCapabilities, QuantizerSuite, read_with
from kernelet.testing.quantizer.suite import Read
from kernelet_quant_compressed_tensors.configuration import form_of, read
from kernelet_quant_compressed_tensors.rounding import round_weight, stored

__all__ = ["TestFloat8", "TestInt8", "TestPackage", "TestPacked4", "TestPacked5", "TestPackedPoints", "TestWriter"]

PLUGIN = "kernelet_quant_compressed_tensors.plugin"


def configured(
    form: str, weights: Mapping[str, Any] | None, inputs: Mapping[str, Any] | None = None, **fields: object
) -> dict[str, Any]:
    """``quantization_config`` of a checkpoint with one group."""
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs, "output_activations": None}
    return {"quant_method": "compressed-tensors", "format": form, "config_groups": {"group_0": group}, **fields}


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-quant-compressed-tensors"


class Stored(QuantizationSuite):
    """A checkpoint with one group of modules."""

    __test__ = False
    capabilities: ClassVar[QuantizationCapabilities]

    @pytest.fixture
    def offered(self) -> Offered[QuantOffer]:
        return find_offer(PLUGIN, QuantOffer, "compressed-tensors")

    @pytest.fixture
    def store(self) -> Store:
        said = read(self.capabilities.config)
        form = form_of("group_0", said.config_groups["group_0"], said.format, round_inputs=True)

        def store(_: QuantLayer, weight: Tensor) -> tuple[Mapping[str, Tensor], Tensor]:
            rounded = round_weight(weight, form)
            return stored(rounded, form), rounded.exact

        return store


class TestPacked4(Stored):
    __test__ = True
    capabilities = QuantizationCapabilities(
        config=configured("pack-quantized", {"num_bits": 4, "strategy": "group", "group_size": 32}), error=1e-6
    )


class TestPackedPoints(Stored):
    __test__ = True
    capabilities = QuantizationCapabilities(
        config=configured("pack-quantized", {"num_bits": 4, "strategy": "group", "group_size": 64, "symmetric": False}),
        error=1e-6,
    )


class TestPacked5(Stored):
    __test__ = True
    capabilities = QuantizationCapabilities(
        config=configured("pack-quantized", {"num_bits": 5, "strategy": "channel", "symmetric": False}), error=1e-6
    )


class TestInt8(Stored):
    __test__ = True
    capabilities = QuantizationCapabilities(
        config=configured(
            "int-quantized",
            {"num_bits": 8, "strategy": "channel"},
            {"num_bits": 8, "strategy": "token", "dynamic": True},
        ),
        error=1e-6,
    )


class TestFloat8(Stored):
    __test__ = True
    capabilities = QuantizationCapabilities(
        config=configured(
            "float-quantized",
            {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]},
            {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 128, "dynamic": True},
        ),
        error=1e-6,
    )


class TestWriter(QuantizerSuite):
    capabilities = QuantizerCapabilities(error=0.05)

    @pytest.fixture
    def offered(self) -> Offered[QuantizerOffer]:
        return find_offer(PLUGIN, QuantizerOffer)

    @pytest.fixture
    def read(self) -> Read:
        return read_with(partial(method_of, find_offer(PLUGIN, QuantOffer)))
