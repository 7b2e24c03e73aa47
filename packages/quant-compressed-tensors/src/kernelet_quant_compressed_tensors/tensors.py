"""The tensors of one module, checked, in canonical form."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kernelet.contracts.quant import QuantLayer
from kernelet.errors import WeightsError
from kernelet_quant_compressed_tensors.configuration import Form
from kernelet_quant_compressed_tensors.packing import unpack, words

FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
WHOLE_NUMBERS = (torch.int32, torch.int64)


def canonical(layer: QuantLayer, form: Form, stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Canonical tensors of a module.

    Args:
        layer: The module.
        form: How it is stored.
        stored: Its tensors by suffix.

    Raises:
        WeightsError: one is missing, damaged, or of another size or type than the configuration says.
    """
    module = Module(layer, form, stored)
    found = {"weight": module.weight(), "scales": module.by_output(module.scales())}
    points = module.zero_points()
    if not form.symmetric:
        found["zero_points"] = module.by_output(points)
    order = module.order()
    if form.act_order:
        found |= {"weight": found["weight"][:, order].contiguous(), "permutation": order.to(torch.int32)}
    if form.activation == "static":
        found["input_scale"] = module.input_scale()
    return found


class Module:
    """Tensors of a module."""

    def __init__(self, layer: QuantLayer, form: Form, stored: Mapping[str, Tensor]) -> None:
        self.layer = layer
        self.form = form
        self.stored = stored
        rows, columns = layer.shape
        height, width = form.block
        self.blocks = (-(-rows // height) if height else 1, -(-columns // width) if width else 1)

    def weight(self) -> Tensor:
        """[out, in], int8 or float8."""
        form, (rows, columns) = self.form, self.layer.shape
        if not form.packed:
            dtype = torch.float8_e4m3fn if form.element == "e4m3fn" else torch.int8
            return self._in_range("weight", self._take("weight", [(rows, columns)], (dtype,)))
        said = self._take("weight_shape", [(2,)], WHOLE_NUMBERS)
        if said.tolist() != [rows, columns]:
            raise self._error(f"weight_shape says {said.tolist()}, and the model has [{rows}, {columns}]")
        packed = self._take("weight_packed", [(rows, words(columns, form.bits))], (torch.int32,))
        return unpack(packed, form.bits, columns)

    def scales(self) -> Tensor:
        """float32, one a block."""
        found = self._take("weight_scale", self._of_blocks(), FLOATS).float().reshape(self.blocks)
        if not bool(torch.isfinite(found).all()):
            raise self._error("weight_scale has values that are infinite or no numbers")
        return found

    def zero_points(self) -> Tensor:
        """int8, one a block. Where weights are symmetric, the ones that some writers leave must be zeros."""
        form, (rows, groups) = self.form, self.blocks
        if form.symmetric:
            given = self.stored.get("weight_zero_point")
            if given is not None and bool(given.float().ne(0).any()):
                raise self._error("weight_zero_point is not 0, and quantization_config says that weights are symmetric")
            return torch.zeros(self.blocks, dtype=torch.int8)
        if form.packed and form.kind in {"channel", "group"}:
            shape = (words(rows, form.bits), groups)
            packed = self._take("weight_zero_point", [shape], (torch.int32,))
            return unpack(packed.T.contiguous(), form.bits, rows).T.contiguous()
        found = self._take("weight_zero_point", self._of_blocks(), (torch.int8, *WHOLE_NUMBERS)).reshape(self.blocks)
        return self._in_range("weight_zero_point", found).to(torch.int8)

    def by_output(self, values: Tensor) -> Tensor:
        """Values of blocks as canonical ones, see ``Form.block_of``."""
        rows, height = self.layer.shape[0], self.form.block[0]
        is_block = self.form.block_of(rows) == self.form.block
        return values if is_block else values.repeat_interleave(height, 0)[:rows].contiguous()

    def order(self) -> Tensor:
        """int64 [in]: columns group by group, for each its input. Where columns are in order, this says so."""
        columns, width = self.layer.shape[1], self.form.block[1] or self.layer.shape[1]
        plain = torch.arange(columns)
        if "weight_g_idx" not in self.stored and not self.form.act_order:
            return plain
        group = self._take("weight_g_idx", [(columns,)], WHOLE_NUMBERS).long()
        if bool((group == -1).all()):
            return plain
        order = torch.argsort(group, stable=True)
        if not torch.equal(group[order], plain // width):
            raise self._error(f"weight_g_idx does not put {columns} columns into groups of {width}")
        if not self.form.act_order and not torch.equal(order, plain):
            raise self._error("weight_g_idx reorders columns, and quantization_config has no actorder")
        return order

    def input_scale(self) -> Tensor:
        """float32 []."""
        found = self._take("input_scale", [(1,), ()], FLOATS).float().reshape(())
        if not 0 < float(found) < float("inf"):
            raise self._error(f"input_scale is {float(found)}")
        return found

    def _of_blocks(self) -> list[tuple[int, ...]]:
        """Shapes that a tensor with a value a block may have."""
        flat: dict[str, list[tuple[int, ...]]] = {"tensor": [(1,), ()], "channel": [self.blocks[:1]]}
        return [self.blocks, *flat.get(self.form.kind, [])]

    def _take(self, name: str, shapes: list[tuple[int, ...]], dtypes: tuple[torch.dtype, ...]) -> Tensor:
        tensor = self.stored.get(name)
        if tensor is None:
            raise self._error(f"{name} is missing")
        if tuple(tensor.shape) not in shapes or tensor.dtype not in dtypes:
            wanted = f"{' or '.join(map(str, dtypes))} {' or '.join(str(list(shape)) for shape in shapes)}"
            raise self._error(f"{name} is {tensor.dtype} {list(tensor.shape)}, expected {wanted}")
        return tensor

    def _in_range(self, name: str, numbers: Tensor) -> Tensor:
        """Refuses integers that no element of so few bits has, and floats that are no numbers."""
        if numbers.is_floating_point():
            if bool((numbers.view(torch.uint8) & 0x7F).eq(0x7F).any()):
                raise self._error(f"{name} has values that are no numbers")
            return numbers
        half = 1 << (self.form.bits - 1)
        if numbers.numel() and not -half <= int(numbers.min()) <= int(numbers.max()) < half:
            raise self._error(f"{name} has values that are not from {-half} to {half - 1}")
        return numbers

    def _error(self, message: str) -> WeightsError:
        return WeightsError(f"{self.layer.name}: {message}")
