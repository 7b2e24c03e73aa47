"""Writes GPTQ checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantLayer
from kernelet.contracts.quantizing import CalibratedBlock, InputGroup, Progress, Quantizer, QuantizerSource
from kernelet.errors import ConfigError, UnsupportedModelError, WeightsError
from kernelet_quant_gptq.config import BITS
from kernelet_quant_gptq.packing import WORD, pack
from kernelet_quant_gptq.solve import MOST_DAMPING, Options, Solution, solve

Made = Iterator[tuple[QuantLayer, Mapping[str, Tensor]]]


class GptqQuantizer(Quantizer):
    """Format ``gptq``. Every module is calibrated on what the rounded modules before it make."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        bits, size = int(settings["bits"] or 0), int(settings["group_size"] or 0)
        damping = float(settings["damp_percent"] or 0)
        if bits not in BITS:
            raise ConfigError(f"bits is {bits}; it must be one of {', '.join(map(str, BITS))}")
        if size < 1 and size != -1:
            raise ConfigError(f"group_size is {size}; it must be -1 or more than 0")
        if not 0 < damping < MOST_DAMPING:
            raise ConfigError(f"damp_percent is {damping}; it must be more than 0 and less than 1")
        self._options = Options(
            bits=bits,
            group_size=size,
            symmetric=bool(settings["sym"]),
            act_order=bool(settings["desc_act"]),
            static_groups=bool(settings["desc_act"] and settings["static_groups"]),
            damping=damping,
        )

    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        options = self._options
        left: dict[str, dict[str, Any]] = {}
        config = {
            "quant_method": "gptq",
            "checkpoint_format": "gptq",
            "bits": options.bits,
            "group_size": options.group_size,
            "sym": options.symmetric,
            "desc_act": options.act_order and not options.static_groups,  # what a reader must know: groups' order
            "static_groups": options.static_groups,
            "damp_percent": options.damping,
            "true_sequential": True,
            "lm_head": False,
            "pack_dtype": "int32",
            "dynamic": left,
        }
        source.save(folder, self._modules(source, left), config, progress)

    def _modules(self, source: QuantizerSource, left: dict[str, dict[str, Any]]) -> Made:
        for block in source.blocks():
            layers = {}
            for layer in block.layers:
                if source.excluded(layer) or layer.router:
                    left[f"-:^{re.escape(layer.name)}$"] = {}
                else:
                    layers[layer.name] = layer
                    self._check(layer, block.weight(layer.name))
            for group in block.groups:
                for name, solution in self._solve(block, group, layers):
                    yield layers[name], self._tensors(solution)

    def _solve(
        self, block: CalibratedBlock, group: InputGroup, layers: Mapping[str, QuantLayer]
    ) -> Iterator[tuple[str, Solution]]:
        names = [name for name in group.modules if name in layers]
        if not names:
            return
        moment = block.inputs(group).second_moment
        for name in names:
            solution = solve(block.weight(name), moment, self._options)
            block.replace(name, solution.weight())
            yield name, solution

    def _tensors(self, solution: Solution) -> Mapping[str, Tensor]:
        bits = self._options.bits
        return {
            "qweight": pack(solution.values.long(), bits).T.contiguous(),
            "qzeros": pack(solution.zeros.T.long() - 1, bits),
            "scales": solution.scales.T.half().contiguous(),
            "g_idx": solution.groups,
        }

    def _check(self, layer: QuantLayer, weight: Tensor) -> None:
        rows, columns = layer.shape
        bits, size = self._options.bits, self._options.group_size
        size = columns if size == -1 else size
        if rows * bits % WORD or columns * bits % WORD or columns % size or (bits == 3 and (rows | columns) % WORD):
            raise UnsupportedModelError(
                f"{layer.name}: GPTQ stores no weight of {rows} outputs and {columns} inputs in {bits} bits and "
                f"groups of {size}: inputs must be a multiple of the group (--option group_size=N), and both "
                f"must fill words of {WORD} bits; or leave the module as it is (--exclude)"
            )
        if not bool(torch.isfinite(weight).all()):
            raise WeightsError(f"{layer.name}.weight has values that are infinite or no numbers")
