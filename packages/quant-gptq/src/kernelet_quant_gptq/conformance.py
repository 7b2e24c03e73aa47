"""The suites of the test kit, on this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from kernelet.contracts.quant import QuantizationMethod, QuantizerOffer, QuantOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.quantization import QuantizationCapabilities, QuantizationSuite
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantization.suite import Excluding, Store
from kernelet.testing.quantizer import QuantizerSuite, read_with
from kernelet.testing.quantizer.suite import Read

__all__ = ["TestActOrder", "TestChannels", "TestGptq", "TestPackage", "TestThreeBits", "TestWriter"]

PLUGIN = "kernelet_quant_gptq.plugin"
ZERO = {"gptq": -1, "gptq_v2": 0}
CONFIG: Mapping[str, object] = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}


def store_gptq(weight: Tensor, config: Mapping[str, object]) -> tuple[Mapping[str, Tensor], Tensor]:
    """What a checkpoint holds of a weight, and the weight that this stands for."""
    bits, size = int(str(config["bits"])), int(str(config["group_size"]))
    rows, columns = weight.shape
    size = columns if size == -1 else size
    top = 2**bits - 1
    order = torch.arange(columns)
    if config["desc_act"]:
        order = order.flip(0)
    groups = torch.empty(columns, dtype=torch.int32)
    groups[order] = torch.arange(columns, dtype=torch.int32) // size
    scales = torch.empty(int(groups.max()) + 1, rows, dtype=torch.float16)
    zeros = torch.full((len(scales), rows), (top + 1) // 2)
    for group in range(len(scales)):
        part = weight.double()[:, groups == group]
        low, high = part.amin(1).clamp(max=0), part.amax(1).clamp(min=0)
        if config["sym"]:
            low, high = -part.abs().amax(1), part.abs().amax(1)
        scales[group] = ((high - low) / top).clamp(min=1e-5).half()
        if not config["sym"]:
            zeros[group] = (-low / scales[group].double()).round().clamp(1, top).long()
    each, zero = scales[groups.long()].T.double(), zeros[groups.long()].T
    whole = ((weight.double() / each).round() + zero).clamp(0, top).long()
    stored = (zeros + ZERO[str(config.get("checkpoint_format", "gptq"))]) % (top + 1)
    found = {"qweight": words(whole, bits).T, "qzeros": words(stored, bits), "scales": scales}
    return found | ({"g_idx": groups} if config["desc_act"] else {}), (whole - zero) * each


def words(values: Tensor, bits: int) -> Tensor:
    """[rows, count] -> int32 [rows, words]: the bits of all values of a row one after the other."""
    rows, count = values.shape
    stream = (values.to(torch.uint8)[..., None] >> torch.arange(bits, dtype=torch.uint8)) & 1
    padded = torch.zeros(rows, -(-count * bits // 32) * 32, dtype=torch.uint8)
    padded[:, : count * bits] = stream.view(rows, -1)
    return torch.from_numpy(np.packbits(padded.numpy(), 1, "little").view("<i4").astype(np.int32))


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-quant-gptq"


class GptqSuite(QuantizationSuite):
    """All that the forms share."""

    @pytest.fixture
    def offered(self) -> Offered[QuantOffer]:
        return find_offer(PLUGIN, QuantOffer)

    @pytest.fixture
    def store(self) -> Store:
        config = self.capabilities.config
        assert config is not None
        return lambda _, weight: store_gptq(weight, config)


class TestGptq(GptqSuite):
    capabilities = QuantizationCapabilities(config=CONFIG, error=0.25)

    @pytest.fixture
    def excluding(self, offered: Offered[QuantOffer]) -> Excluding | None:
        def make(entries: Sequence[str]) -> QuantizationMethod:
            rules: Mapping[str, object] = {f"-:(.*\\.)?{entry}(\\..*)?$": {} for entry in entries}
            return method_of(offered, {**CONFIG, "dynamic": rules})

        return make


class TestActOrder(GptqSuite):
    capabilities = QuantizationCapabilities(
        config={**CONFIG, "group_size": 32, "desc_act": True, "sym": False}, error=0.2
    )


class TestThreeBits(GptqSuite):
    capabilities = QuantizationCapabilities(config={**CONFIG, "bits": 3, "group_size": 32, "sym": False}, error=0.4)


class TestChannels(GptqSuite):
    capabilities = QuantizationCapabilities(
        config={**CONFIG, "bits": 8, "group_size": -1, "checkpoint_format": "gptq_v2"}, error=0.02
    )


class TestWriter(QuantizerSuite):
    @pytest.fixture
    def offered(self) -> Offered[QuantizerOffer]:
        return find_offer(PLUGIN, QuantizerOffer)

    @pytest.fixture
    def read(self) -> Read:
        return read_with(partial(method_of, find_offer(PLUGIN, QuantOffer)))
