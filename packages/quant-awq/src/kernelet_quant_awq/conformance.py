"""The suites of the test kit, on this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pytest
import torch
from torch import Tensor

from kernelet.contracts.quant import QuantizerOffer, QuantOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.quantization import QuantizationCapabilities, QuantizationSuite
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantization.suite import Excluding, Store
from kernelet.testing.quantizer import QuantizerSuite, read_with
from kernelet.testing.quantizer.suite import Read

__all__ = ["TestAwq", "TestAwqChannels", "TestAwqGemv", "TestPackage", "TestWriter"]

PLUGIN = "kernelet_quant_awq.plugin"
CONFIG = {"quant_method": "awq", "bits": 4, "zero_point": True, "version": "gemm"}
FIELDS = (0, 2, 4, 6, 1, 3, 5, 7)


def store_awq(weight: Tensor, group_size: int, layout: str = "gemm") -> tuple[Mapping[str, Tensor], Tensor]:
    """What a checkpoint holds of a weight, and the weight that this stands for; word by word."""
    rows, columns = weight.shape
    size = columns if group_size == -1 else group_size
    groups = weight.double().view(rows, columns // size, size)
    low, high = groups.amin(2).clamp(max=0), groups.amax(2).clamp(min=0)
    scales = ((high - low) / 15).clamp(min=1e-5).half()
    zeros = (-low / scales.double()).round().clamp(0, 15)
    whole = ((groups / scales.double()[..., None]).round() + zeros[..., None]).clamp(0, 15)
    stands_for = ((whole - zeros[..., None]) * scales.double()[..., None]).view(rows, columns)
    values = whole.view(rows, columns).int()
    if layout == "gemm":
        return {
            "qweight": words(values.T, FIELDS),
            "qzeros": words(zeros.int().T, FIELDS),
            "scales": scales.T,
        }, stands_for
    count = -(-zeros.shape[1] // 8)
    multiple = {32: 4, 64: 2}.get(group_size, 1)
    padded = 8 * multiple * -(-count // multiple)
    wide = torch.zeros(2, rows, padded, dtype=torch.float64)
    wide[0, :, : zeros.shape[1]], wide[1, :, : zeros.shape[1]] = zeros, scales.double()
    in_order = tuple(range(8))
    return {
        "qweight": words(values, in_order),
        "qzeros": words(wide[0].int(), in_order),
        "scales": wide[1].half(),
    }, stands_for


def words(values: Tensor, fields: Sequence[int]) -> Tensor:
    """[rows, columns] -> int32 [rows, columns / 8]."""
    sizes = torch.tensor([16**field for field in range(8)])
    made = (values.long().view(len(values), -1, 8)[..., list(fields)] * sizes).sum(2)
    return made.where(made < 2**31, made - 2**32).int()


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-quant-awq"


class AwqSuite(QuantizationSuite):
    """All that the versions share."""

    group_size = 128
    layout = "gemm"

    @pytest.fixture
    def offered(self) -> Offered[QuantOffer]:
        return find_offer(PLUGIN, QuantOffer)

    @pytest.fixture
    def store(self) -> Store:
        return lambda _, weight: store_awq(weight, self.group_size, self.layout)

    @pytest.fixture
    def excluding(self, offered: Offered[QuantOffer]) -> Excluding | None:
        config = dict(self.capabilities.config or {})
        return lambda entries: method_of(offered, {**config, "modules_to_not_convert": list(entries)})


class TestAwq(AwqSuite):
    capabilities = QuantizationCapabilities(config={**CONFIG, "group_size": 128}, error=0.2)


class TestAwqChannels(AwqSuite):
    capabilities = QuantizationCapabilities(config={**CONFIG, "group_size": -1}, error=0.25)
    group_size = -1


class TestAwqGemv(AwqSuite):
    capabilities = QuantizationCapabilities(config={**CONFIG, "version": "gemv", "group_size": 32}, error=0.2)
    group_size = 32
    layout = "gemv"


class TestWriter(QuantizerSuite):
    @pytest.fixture
    def offered(self) -> Offered[QuantizerOffer]:
        return find_offer(PLUGIN, QuantizerOffer)

    @pytest.fixture
    def read(self) -> Read:
        return read_with(partial(method_of, find_offer(PLUGIN, QuantOffer)))
