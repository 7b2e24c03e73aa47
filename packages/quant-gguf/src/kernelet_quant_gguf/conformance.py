"""The suites of the test kit, on this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

from kernelet.contracts.model import WeightFormatOffer
from kernelet.contracts.quant import QuantLayer, QuantOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.quantization import QuantizationCapabilities, QuantizationSuite
from kernelet.testing.quantization.layers import layers
from kernelet.testing.quantization.suite import Store
from kernelet.testing.weight_format import WeightFormatCapabilities, WeightFormatSuite

__all__ = ["TestBlocks", "TestFiles", "TestPackage"]

PLUGIN = "kernelet_quant_gguf.plugin"
MODULES = [layer.name for layer in layers() if not layer.router] + ["model.layers.7.self_attn.o_proj"]


def write_file(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes tensors under their own names, with the format's own package."""
    from gguf import GGMLQuantizationType, GGUFWriter

    kinds = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
    writer = GGUFWriter(folder / "model.gguf", "kit")
    for name, tensor in tensors.items():
        kind = GGMLQuantizationType[kinds[tensor.dtype]]
        writer.add_tensor(name, tensor.contiguous().view(torch.uint8).numpy(), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-quant-gguf"


class TestFiles(WeightFormatSuite):
    capabilities = WeightFormatCapabilities(scalars=False)

    @pytest.fixture
    def offered(self) -> Offered[WeightFormatOffer]:
        return find_offer(PLUGIN, WeightFormatOffer, "gguf")

    @pytest.fixture
    def write(self) -> Callable[[Path, Mapping[str, Tensor]], None]:
        return write_file


class TestBlocks(QuantizationSuite):
    """Q4_1, as the format's own package quantizes to it."""

    capabilities = QuantizationCapabilities(config={"quant_method": "gguf", "types": dict.fromkeys(MODULES, "Q4_1")})

    @pytest.fixture(params=["none", "int8"])
    def offered(self, request: pytest.FixtureRequest) -> Offered[QuantOffer]:
        return find_offer(PLUGIN, QuantOffer, "gguf", activations=request.param)

    @pytest.fixture
    def store(self) -> Store:
        from gguf import GGMLQuantizationType, quants

        def store(_: QuantLayer, weight: Tensor) -> tuple[Mapping[str, Tensor], Tensor]:
            rows = quants.quantize(weight.float().numpy(), GGMLQuantizationType.Q4_1)
            whole = quants.dequantize(rows, GGMLQuantizationType.Q4_1)
            return {"weight": torch.from_numpy(rows)}, torch.from_numpy(whole)

        return store
