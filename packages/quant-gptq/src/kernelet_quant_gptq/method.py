"""GPTQ: which modules are quantized, and the canonical tensors of their words.

The format: Frantar et al., "GPTQ" (2022), as AutoGPTQ and ``gptqmodel`` write it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import QuantizationConfig, QuantizationMethod, QuantLayer
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_gptq.config import Form, read_config
from kernelet_quant_gptq.packing import WORD, unpack, words

logger = logging.getLogger("kernelet.quant_gptq")

STORED = ("qweight", "qzeros", "scales")
ORDER = "g_idx"


class Gptq(QuantizationMethod):
    """Weights of 2, 3, 4 or 8 bits in groups of inputs.

    =========== ======== ===========================================================================
    ``qweight`` int32    [in * bits / 32, out], rounded up
    ``qzeros``  int32    [groups, out * bits / 32], rounded up; format ``gptq`` stores each less one
    ``scales``  float16  [groups, out]
    ``g_idx``   int32    [in]: the group of each input; not needed where groups are in order
    =========== ======== ===========================================================================
    """

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        super().__init__(settings, config, model)
        self.format = read_config(config or {})
        self._is_corrected = False

    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        form = self.format.of(layer.name)
        if form is None or layer.role == "embedding" or layer.router:
            return None
        if layer.head and (layer.tied or not self.format.head):
            return None
        if form.bits == 3 and any(size % WORD for size in layer.shape):
            raise UnsupportedModelError(
                f"{layer.name}: GPTQ stores no weight of {layer.shape[0]} outputs and {layer.shape[1]} inputs in 3 "
                f"bits: both must be multiples of {WORD}"
            )
        return WeightScheme(
            element=f"int{form.bits}" if form.symmetric else f"uint{form.bits}",
            scales=(ScaleLevel("float16", (1, _block(form, layer))),),
            zero_point=None if form.symmetric else "int",
            permuted=self._is_permuted(form, layer),
        )

    def stored(self, layer: QuantLayer) -> Sequence[str]:
        form = self._form(layer)
        return (*STORED, ORDER) if self._is_permuted(form, layer) else STORED

    def optional(self, layer: QuantLayer) -> Sequence[str]:
        return () if self._is_permuted(self._form(layer), layer) else (ORDER,)

    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        form = self._form(layer)
        rows, columns = layer.shape
        _check(layer, form, stored, self.stored(layer))
        scales = stored["scales"].to(torch.float16)
        if not bool(torch.isfinite(scales).all()):
            raise WeightsError(f"{layer.name}.scales has values that float16 cannot hold")
        weight = unpack(stored["qweight"].T, form.bits, columns)
        zeros = unpack(stored["qzeros"], form.bits, rows)
        made = {"weight": weight, "scales": scales.T.contiguous()}
        if form.symmetric:
            self._check_symmetric(layer, form, zeros)
            made["weight"] = (weight - 2 ** (form.bits - 1)).view(torch.int8)  # uint8 wraps into it
        else:
            shifted = (zeros + self.format.one_less) & (2**form.bits - 1)
            made["zero_points"] = shifted.T.contiguous()
        order = self._order(layer, form, stored.get(ORDER))
        if self._is_permuted(form, layer):
            made |= {"weight": made["weight"][:, order], "permutation": order.to(torch.int32)}
        return {name: tensor.contiguous() for name, tensor in made.items()}

    def identity(self) -> str:
        return f"{__name__}-1"

    def unused(self) -> Sequence[str]:
        return [f"dynamic: {pattern}" for pattern in self.format.rules.unused()]

    def _form(self, layer: QuantLayer) -> Form:
        form = self.format.of(layer.name)
        assert form is not None
        return form

    def _is_permuted(self, form: Form, layer: QuantLayer) -> bool:
        return form.desc_act and not self.format.static_groups and _block(form, layer) != 0

    def _order(self, layer: QuantLayer, form: Form, groups: Tensor | None) -> Tensor:
        """Inputs in the order of their groups.

        Raises:
            WeightsError: groups have other sizes than the configuration says, or another order.
        """
        columns = layer.shape[1]
        in_order = torch.arange(columns) // (_block(form, layer) or columns)
        groups = in_order if groups is None else groups.long()
        order = torch.argsort(groups, stable=True)
        if not torch.equal(groups[order], in_order):
            raise WeightsError(
                f"{layer.name}.{ORDER} has other groups than of {form.group_size} inputs each, which group_size says"
            )
        if not self._is_permuted(form, layer) and not torch.equal(groups, in_order):
            raise WeightsError(
                f"{layer.name}.{ORDER} is in act-order, and the configuration says that it is not: desc_act must be "
                f"true, and static_groups false"
            )
        return order

    def _check_symmetric(self, layer: QuantLayer, form: Form, zeros: Tensor) -> None:
        """Zero points are the middle, whichever of the two conventions wrote them.

        Raises:
            WeightsError: they are not.
        """
        middle, found = 2 ** (form.bits - 1), int(zeros.flatten()[0])
        if found not in (middle - 1, middle) or not bool((zeros == found).all()):
            raise WeightsError(
                f"{layer.name}.qzeros must be {middle - 1} or {middle} everywhere where sym is true: the tensor is "
                f"damaged, or sym must be false"
            )
        if found != middle - self.format.one_less and not self._is_corrected:
            self._is_corrected = True
            named, other = ("gptq", "gptq_v2") if self.format.one_less else ("gptq_v2", "gptq")
            logger.warning("the zero points are those of %s, and not of %s as the checkpoint says", other, named)


def _block(form: Form, layer: QuantLayer) -> int:
    return 0 if form.group_size == -1 or form.group_size >= layer.shape[1] else form.group_size


def _check(layer: QuantLayer, form: Form, stored: Mapping[str, Tensor], needed: Sequence[str]) -> None:
    rows, columns = layer.shape
    groups = -(-columns // (_block(form, layer) or columns))
    shapes = {
        "qweight": (words(columns, form.bits), rows),
        "qzeros": (groups, words(rows, form.bits)),
        "scales": (groups, rows),
        ORDER: (columns,),
    }
    for name, shape in shapes.items():
        tensor = stored.get(name)
        if tensor is None:
            if name not in needed:
                continue
            raise WeightsError(f"the checkpoint has no {layer.name}.{name}")
        if tuple(tensor.shape) != shape:
            raise WeightsError(
                f"{layer.name}.{name} is {list(tensor.shape)}; GPTQ ({form.bits} bits, groups of {form.group_size}) "
                f"stores a weight [{rows}, {columns}] as {list(shape)}"
            )
        if tensor.is_floating_point() != (name == "scales") or (name.startswith("q") and tensor.dtype != torch.int32):
            raise WeightsError(f"{layer.name}.{name} is {tensor.dtype}")
