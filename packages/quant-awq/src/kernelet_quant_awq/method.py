"""AWQ: which modules are quantized, and the canonical tensors of their words.

The format: Lin et al., "AWQ: Activation-aware Weight Quantization" (2023), as ``autoawq`` 0.2.9 writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import ModulePatterns, QuantizationConfig, QuantizationMethod, QuantLayer
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_awq.config import read_config
from kernelet_quant_awq.packing import EACH, IN_ORDER, INTERLEAVED, unpack, words_of_groups

STORED = ("qweight", "qzeros", "scales")
SYMMETRIC = 8


class Awq(QuantizationMethod):
    """4-bit weights in groups with a scale and a zero point.

    ======= ========== ==================== =================
    version tensor     dtype                shape
    ======= ========== ==================== =================
    gemm    ``qweight`` int32, interleaved  [in, out / 8]
    gemm    ``qzeros``  int32, interleaved  [groups, out / 8]
    gemm    ``scales``  float16             [groups, out]
    gemv    ``qweight`` int32               [out, in / 8]
    gemv    ``qzeros``  int32               [out, words]
    gemv    ``scales``  float16             [out, 8 * words]
    ======= ========== ==================== =================
    """

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, config, model)
        self.format = read_config(config or {})
        self._skipped = ModulePatterns(self.format.skipped)

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        skipped = self._skipped.match(layer.name)
        if (
            skipped
            or layer.role == "embedding"
            or layer.router
            or (layer.head and (layer.tied or not self.format.head))
        ):
            return None
        rows, columns = layer.shape
        group = self.format.group_size
        along = columns if self.format.layout == "gemv" else rows
        if along % EACH or columns % (columns if group == -1 else group):
            raise UnsupportedModelError(
                f"{layer.name}: AWQ stores no weight of {rows} outputs and {columns} inputs in groups of {group} "
                f"(version {self.format.layout}): list the module in modules_to_not_convert if it is not quantized"
            )
        block = (1, 0 if group == -1 else group)
        return WeightScheme(element="uint4", scales=(ScaleLevel("float16", block),), zero_point="int")

    def stored(self, layer: QuantLayer) -> Sequence[str]:
        return STORED

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        groups = 1 if self.format.group_size == -1 else layer.shape[1] // self.format.group_size
        self._check(layer, stored, groups)
        scales = stored["scales"].to(torch.float16)
        if not bool(torch.isfinite(scales).all()):
            raise WeightsError(f"{layer.name}.scales has values that float16 cannot hold")
        if self.format.layout == "gemm":
            weight, zeros = (unpack(stored[name], INTERLEAVED) for name in ("qweight", "qzeros"))
            scales = scales.T
        else:
            weight, zeros = (unpack(stored[name], IN_ORDER).T for name in ("qweight", "qzeros"))
            zeros, scales = zeros[:, :groups], scales[:, :groups]
        if not self.format.zero_point and not bool((zeros == SYMMETRIC).all()):
            raise WeightsError(f"{layer.name}.qzeros is not {SYMMETRIC} everywhere, though zero_point is false")
        return {
            "weight": weight.contiguous(),
            "scales": scales.contiguous(),
            "zero_points": zeros.contiguous(),
        }

    def identity(self) -> str:
        return f"{__name__}-1"

    def unused(self) -> Sequence[str]:
        return [f"modules_to_not_convert: {entry}" for entry in self._skipped.unused()]

    def _check(self, layer: QuantLayer, stored: Mapping[str, Tensor], groups: int) -> None:
        rows, columns = layer.shape
        words = words_of_groups(groups, self.format.group_size)
        shapes = {
            "gemm": ((columns, rows // EACH), (groups, rows // EACH), (groups, rows)),
            "gemv": ((rows, columns // EACH), (rows, words), (rows, words * EACH)),
        }[self.format.layout]
        for name, shape in zip(STORED, shapes, strict=True):
            tensor = stored.get(name)
            if tensor is None:
                raise WeightsError(f"the checkpoint has no {layer.name}.{name}")
            if tuple(tensor.shape) != shape:
                raise WeightsError(
                    f"{layer.name}.{name} is {list(tensor.shape)}; AWQ (version {self.format.layout}, groups of "
                    f"{self.format.group_size}) stores a weight [{rows}, {columns}] as {list(shape)}"
                )
            if tensor.is_floating_point() != (name == "scales") or (name != "scales" and tensor.dtype != torch.int32):
                raise WeightsError(f"{layer.name}.{name} is {tensor.dtype}")
