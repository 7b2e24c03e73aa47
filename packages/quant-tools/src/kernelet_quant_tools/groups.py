"""Finds which modules of a layer share an input, and from where a channel's factor can be taken: proven by computing.

A factor s of an input channel can be moved if dividing what makes the channel by s, and multiplying the column of each
module that takes it, changes nothing. So much is tried with random factors, on one sequence; nothing is assumed about
the model's structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn

from kernelet_quant_tools.decoder import Arguments, run
from kernelet_quant_tools.scaling import divide, is_norm, multiply

TOLERANCE = 1e-3
"""Relative difference of outputs that rounding may make in float32."""


@dataclass
class Trace:
    """What happened while a layer ran.

    Attributes:
        inputs: What each linear module was given, in the order of the calls.
        outputs: What each linear module and norm made, likewise.
        output: Of the layer.
    """

    inputs: dict[str, Tensor] = field(default_factory=dict)
    outputs: dict[str, Tensor] = field(default_factory=dict)
    output: Tensor = field(default_factory=lambda: torch.empty(0))


@dataclass(frozen=True)
class Shared:
    """Modules of a layer, by their names in it, that share an input; and what comes before them, or nothing."""

    modules: tuple[str, ...]
    before: str = ""


def find_shared(layer: nn.Module, states: Tensor, arguments: Arguments) -> list[Shared]:
    """All linear modules of a layer by their input, in the order in which they are computed.

    Args:
        layer: With its weights, in float32; they are as before in the end.
        states: float32 [1, tokens, hidden].
        arguments: What else it is called with.
    """
    found = trace(layer, states, arguments)
    groups: list[list[str]] = []
    for name, value in found.inputs.items():
        same = next((group for group in groups if found.inputs[group[0]] is value), None)
        if same is None:
            groups.append([name])
        else:
            same.append(name)
    moves = partial(_can_move, layer, states, arguments, found)
    return [
        Shared(tuple(group), next((one for one in _candidates(layer, found, group) if moves(one, group)), ""))
        for group in groups
    ]


def trace(layer: nn.Module, states: Tensor, arguments: Arguments) -> Trace:
    """Runs a layer, and notes what goes in and out."""
    found = Trace()

    def given(name: str, _: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        found.inputs.setdefault(name, inputs[0])

    def made(name: str, _: nn.Module, __: tuple[Tensor, ...], output: Tensor) -> None:
        found.outputs.setdefault(name, output)

    handles = []
    for name, module in layer.named_modules():
        if isinstance(module, nn.Linear):
            handles.append(module.register_forward_pre_hook(partial(given, name)))
        if isinstance(module, nn.Linear) or is_norm(module):
            handles.append(module.register_forward_hook(partial(made, name)))
    try:
        found.output = run(layer, states, arguments)
    finally:
        for handle in handles:
            handle.remove()
    return found


def _candidates(layer: nn.Module, found: Trace, group: Sequence[str]) -> Iterator[str]:
    """Norms that made the input, else linear modules before it that make as many channels, the last one first."""
    given = found.inputs[group[0]]
    norms = [name for name, output in found.outputs.items() if output is given]
    if norms:
        yield from norms
        return
    earlier = list(found.outputs)[: list(found.outputs).index(group[0])]
    for name in reversed(earlier):
        if isinstance(layer.get_submodule(name), nn.Linear) and found.outputs[name].shape[-1] == given.shape[-1]:
            yield name


def _can_move(
    layer: nn.Module, states: Tensor, arguments: Arguments, found: Trace, before: str, group: Sequence[str]
) -> bool:
    changed = {name: layer.get_submodule(name) for name in (before, *group)}
    held = {name: {k: v.clone() for k, v in one.state_dict().items()} for name, one in changed.items()}
    size = found.inputs[group[0]].shape[-1]
    factors = torch.rand(size, generator=torch.Generator().manual_seed(0)) * 1.5 + 0.5
    divide(changed[before], factors)
    multiply((changed[name] for name in group), factors)
    other = trace(layer, states, arguments)
    for name, one in changed.items():
        one.load_state_dict(held[name])
    pairs = [(other.outputs[name], found.outputs[name], found.outputs[name]) for name in group]
    pairs.append((other.output, found.output, found.output - states))
    return all(float((one - two).norm()) <= TOLERANCE * float(size_of.norm()) for one, two, size_of in pairs)
