"""A model of `transformers` whose decoder layers come and go one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from kernelet.errors import UnsupportedModelError

Read = Callable[[str], Tensor]
ADVICE = "choose a format that needs no calibration"


@dataclass(frozen=True)
class Arguments:
    """What a decoder layer is called with besides the hidden states."""

    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)


class Decoder:
    """The modules of a model, all of them without memory; ``read`` fills what is in use.

    Attributes:
        name: Of the list of layers, in the checkpoint: ``"model.layers"``.
        layers: The decoder layers.
    """

    def __init__(self, folder: Path, read: Read) -> None:
        """Builds the modules.

        Args:
            folder: The model's, for its config.json.
            read: A tensor by its name in the checkpoint; raises WeightsError.

        Raises:
            UnsupportedModelError: `transformers` does not know the model, or it has no list of layers.
        """
        self._read = read
        try:
            config = transformers.AutoConfig.from_pretrained(os.fspath(folder), local_files_only=True)
            with without_memory():
                model = transformers.AutoModelForCausalLM.from_config(
                    config, dtype=torch.float32, attn_implementation="eager"
                )
        except (ValueError, KeyError, OSError, AttributeError) as error:
            why = f"{error}".partition("\n")[0].rstrip(".")
            raise UnsupportedModelError(
                f"{folder}: transformers, which calibration runs on, cannot build this model: {why}; {ADVICE}"
            ) from error
        model.eval()
        count = config.get_text_config().num_hidden_layers
        lists = [(name, one) for name, one in model.named_modules() if isinstance(one, nn.ModuleList)]
        found = next(((name, one) for name, one in lists if len(one) == count), None)
        if found is None:
            raise UnsupportedModelError(f"{folder}: transformers has no list of {count} layers in it; {ADVICE}")
        self.name, self.layers = found
        self._base_name = self.name.rpartition(".")[0]
        self._base = model.get_submodule(self._base_name)

    def begin(self, ids: Tensor) -> tuple[Tensor, list[Arguments]]:
        """Hidden states before the first layer, and what each layer is called with besides them.

        Args:
            ids: int64 [sequences, tokens].

        Returns:
            float32 [sequences, tokens, hidden], and arguments by layer for one sequence, which is all that they
            depend on.
        """
        inside = self.name[len(self._base_name) + 1 :] if self._base_name else self.name
        for name, _ in list(self._base.named_parameters()):
            if not name.startswith(f"{inside}."):
                self._fill(self._base, name, f"{self._base_name}.{name}" if self._base_name else name)
        arguments = [Arguments()] * len(self.layers)
        hidden: list[Tensor] = []

        def called(index: int, states: Tensor, *positional: Any, **named: Any) -> Tensor:
            arguments[index] = Arguments(positional, named)
            if index == 0:
                hidden.append(states)
            return states

        for index, layer in enumerate(self.layers):
            layer.forward = partial(called, index)
        try:
            with torch.no_grad():
                for row in ids:
                    self._base(input_ids=row[None], use_cache=False)
        finally:
            for layer in self.layers:
                del layer.forward
        if len(hidden) != len(ids):
            raise UnsupportedModelError(f"{self.name}: layers are not called one after the other; {ADVICE}")
        return torch.cat(hidden), arguments

    def load(self, index: int) -> nn.Module:
        """A layer with its weights, in float32."""
        layer = self.layers[index]
        for name, _ in list(layer.named_parameters()):
            self._fill(layer, name, f"{self.name}.{index}.{name}")
        return layer

    def drop(self, index: int) -> None:
        """Frees the weights of a layer."""
        self.layers[index] = nn.Identity()

    def _fill(self, module: nn.Module, name: str, stored: str) -> None:
        path, _, leaf = name.rpartition(".")
        owner = module.get_submodule(path)
        held = owner.get_parameter(leaf)
        tensor = self._read(stored)
        if tensor.shape != held.shape:
            raise UnsupportedModelError(
                f"{stored} is {list(tensor.shape)}, transformers wants {list(held.shape)}; {ADVICE}"
            )
        owner.register_parameter(leaf, nn.Parameter(tensor.float(), requires_grad=False))


def run(layer: nn.Module, states: Tensor, arguments: Arguments) -> Tensor:
    """A layer's output [1, tokens, hidden]."""
    with torch.no_grad():
        found = layer(states, *arguments.positional, **arguments.named)
    output: Tensor = found[0] if isinstance(found, tuple) else found
    return output


@contextmanager
def without_memory() -> Iterator[None]:
    """Parameters of modules that are made meanwhile have no memory; buffers, which no checkpoint has, are real."""
    register = nn.Module.register_parameter

    def on_meta(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        if parameter is not None:
            parameter = nn.Parameter(parameter.to("meta"), requires_grad=False)
        register(module, name, parameter)

    nn.Module.register_parameter = on_meta  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        nn.Module.register_parameter = register  # type: ignore[method-assign]
