"""Which tensors a file has, and how each is made of those of a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.architectures import Architecture
from kernelet_quant_gguf.names import Order, order_of


@dataclass
class Planned:
    """A tensor of the file.

    Attributes:
        name: In the file.
        module: Its module, without number of layer: ``"attn_q"``.
        sources: Tensors of the checkpoint that it is made of: one, or one an expert, in order.
        order: Order of the rows in the file; None: as they are.
        offset: What is added to the values.
    """

    name: str
    module: str
    sources: list[str] = field(default_factory=list)
    order: Order | None = None
    offset: float = 0.0

    @property
    def stacked(self) -> bool:
        """It holds all experts of a layer."""
        return self.module.endswith("_exps")

    def arrange(self, value: Tensor) -> Tensor:
        """A tensor of the checkpoint as the file has it."""
        if self.order is not None:
            axes, turned = self.order.stored(len(value))
            ours = [axes[axis] for axis in turned]
            back = [turned.index(axis) for axis in range(len(turned))]
            value = value.view(*ours, *value.shape[1:]).permute(*back, *range(3, 2 + value.dim())).reshape(value.shape)
        return value + self.offset if self.offset else value


def plan(architecture: Architecture, names: Iterable[str], heads: tuple[int, int]) -> list[Planned]:
    """All tensors of the file.

    Args:
        architecture: Of the model.
        names: Tensors of the checkpoint.
        heads: Query heads, and key and value heads.

    Raises:
        UnsupportedModelError: a tensor has no place in the file; names it.
    """
    found: dict[str, Planned] = {}
    experts: dict[str, dict[int, str]] = {}
    patterns = dict(_patterns(architecture))
    for name in names:
        if name.endswith("rotary_emb.inv_freq"):
            continue
        module, layer, expert, kind = _match(patterns, name)
        file_name = f"{module}.{kind}" if layer is None else f"blk.{layer}.{module}.{kind}"
        if expert is not None:
            experts.setdefault(file_name, {})[int(expert)] = name
        offset = architecture.norm_offset if name.endswith("norm.weight") else 0.0
        planned = found.setdefault(
            file_name, Planned(file_name, module, [], order_of(architecture, module, *heads), offset)
        )
        planned.sources.append(name)
    for file_name, numbered in experts.items():
        if sorted(numbered) != list(range(len(numbered))):
            raise UnsupportedModelError(f"{file_name}: the checkpoint has the experts {sorted(numbered)}")
        found[file_name].sources = [numbered[number] for number in range(len(numbered))]
    return list(found.values())


def _patterns(architecture: Architecture) -> Iterator[tuple[str, re.Pattern[str]]]:
    for module, name in architecture.outer.items():
        yield module, re.compile(rf"{re.escape(name)}\.(?P<kind>weight|bias)")
    prefix = re.escape(architecture.prefix).replace(r"\{layer\}", r"(?P<layer>\d+)")
    for module, name in architecture.layer.items():
        yield module, re.compile(rf"{prefix}\.{re.escape(name)}\.(?P<kind>weight|bias)")
    for module, name in architecture.experts.items():
        inner = re.escape(name).replace(r"\{expert\}", r"(?P<expert>\d+)")
        yield module, re.compile(rf"{prefix}\.{inner}\.(?P<kind>weight|bias)")


def _match(patterns: Mapping[str, re.Pattern[str]], name: str) -> tuple[str, str | None, str | None, str]:
    for module, pattern in patterns.items():
        if match := pattern.fullmatch(name):
            said = match.groupdict()
            return module, said.get("layer"), said.get("expert"), said["kind"]
    raise UnsupportedModelError(f"{name} has no place in a GGUF file of this architecture")
