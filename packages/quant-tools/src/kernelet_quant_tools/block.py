"""One decoder layer with the calibration text before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from kernelet.contracts.quant import QuantLayer
from kernelet.contracts.quantizing import CalibratedBlock, InputGroup, ModuleInputs
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_tools.decoder import ADVICE, Arguments, Decoder, run
from kernelet_quant_tools.groups import find_shared
from kernelet_quant_tools.scaling import divide, multiply
from kernelet_quant_tools.source import CheckpointSource
from kernelet_quant_tools.statistics import Statistics, scaled


class _EnoughError(Exception):
    """All inputs that were asked for are there: the rest of the layer need not run."""


class ModelBlock(CalibratedBlock):
    """A layer of the model.

    Args:
        source: Is told what changes.
        module: The layer, with its weights.
        name: Its name in the checkpoint.
        states: float32 [sequences, tokens, hidden] before it.
        arguments: What else it is called with.
        sample_rows: Inputs of a module that a writer may see.
    """

    def __init__(
        self,
        source: CheckpointSource,
        module: nn.Module,
        name: str,
        states: Tensor,
        arguments: Arguments,
        sample_rows: int,
    ) -> None:
        self.name = name
        self.sequential = False
        self._source, self._module, self._states, self._arguments = source, module, states, arguments
        self._sample_rows = sample_rows
        self._known: dict[str, ModuleInputs] = {}
        shared = find_shared(module, states[:1], arguments)
        self.groups = tuple(
            InputGroup(modules=tuple(map(self._whole, one.modules)), before=one.before and self._whole(one.before))
            for one in shared
        )
        self.layers = self._layers([name for group in self.groups for name in group.modules])

    def inputs(self, group: InputGroup) -> ModuleInputs:
        if group.modules[0] not in self._known:
            missing = [one for one in self.groups if one.modules[0] not in self._known]
            self._known |= self._gather([group] if self.sequential else missing)
        return self._known[group.modules[0]]

    def weight(self, name: str) -> Tensor:
        return self._own(name).get_parameter("weight").detach().clone()

    def replace(self, name: str, weight: Tensor) -> None:
        held = self._own(name).get_parameter("weight")
        if weight.shape != held.shape or not bool(torch.isfinite(weight).all()):
            raise WeightsError(
                f"{name}: it was to be replaced by {list(weight.shape)} with values that may be infinite; it is "
                f"{list(held.shape)}"
            )
        with torch.no_grad():
            held.copy_(weight)
        self._source.change(f"{name}.weight", weight)
        self.sequential = True
        self._known.clear()

    def scale(self, group: InputGroup, factors: Tensor) -> None:
        if not group.before:
            raise ValueError(f"{self.name}: no channel factor can be moved before {', '.join(group.modules)}")
        if not bool((torch.isfinite(factors) & (factors > 0)).all()):
            raise ValueError(f"{self.name}: factors must be positive and finite")
        divide(self._own(group.before), factors)
        multiply(map(self._own, group.modules), factors)
        for name in (group.before, *group.modules):
            for leaf, parameter in self._own(name).named_parameters():
                self._source.change(f"{name}.{leaf}", parameter.detach().clone())
        if (known := self._known.get(group.modules[0])) is not None:
            self._known[group.modules[0]] = scaled(known, factors)

    def finish(self) -> Tensor:
        """States after the layer, with the weights that it has now."""
        return torch.cat([run(self._module, states[None], self._arguments) for states in self._states])

    def _gather(self, groups: Sequence[InputGroup]) -> dict[str, ModuleInputs]:
        tokens = self._states.shape[0] * self._states.shape[1]
        found = {}
        for group in groups:
            size = self._own(group.modules[0]).get_parameter("weight").shape[1]
            found[group.modules[0]] = Statistics(size, tokens, self._sample_rows)
        last = next(group.modules[0] for group in reversed(self.groups) if group.modules[0] in found)
        handles = [
            self._own(name).register_forward_pre_hook(partial(_take, statistics, name == last))
            for name, statistics in found.items()
        ]
        try:
            for states in self._states:
                try:
                    run(self._module, states[None], self._arguments)
                except _EnoughError:
                    continue
        finally:
            for handle in handles:
                handle.remove()
        return {name: statistics.result() for name, statistics in found.items()}

    def _layers(self, names: Sequence[str]) -> tuple[QuantLayer, ...]:
        mine = {one.name: one for one in self._source.layers if one.name.startswith(f"{self.name}.")}
        for name in mine.keys() - set(names):
            raise UnsupportedModelError(f"{name} is no linear module of its own in transformers; {ADVICE}")
        return tuple(mine[name] for name in names if name in mine)

    def _own(self, name: str) -> nn.Module:
        return self._module.get_submodule(name.removeprefix(f"{self.name}."))

    def _whole(self, name: str) -> str:
        return f"{self.name}.{name}"


def calibrated_blocks(
    decoder: Decoder, ids: Tensor, sample_rows: int, source: CheckpointSource
) -> Iterator[ModelBlock]:
    """The layers of a model in order; each is computed with what became of those before it.

    Args:
        decoder: The model.
        ids: int64 [sequences, tokens].
        sample_rows: Inputs of a module that a writer may see.
        source: Is told what changes.
    """
    states, arguments = decoder.begin(ids)
    sequential = False
    for index in range(len(decoder.layers)):
        name = f"{decoder.name}.{index}"
        block = ModelBlock(source, decoder.load(index), name, states, arguments[index], sample_rows)
        block.sequential = sequential
        yield block
        states, sequential = block.finish(), block.sequential
        if not bool(torch.isfinite(states).all()):
            raise WeightsError(
                f"{name}: with its weights the calibration text has values that are infinite or no numbers"
            )
        decoder.drop(index)


def _take(statistics: Statistics, last: bool, _: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    statistics.add(inputs[0])
    if last:
        raise _EnoughError
