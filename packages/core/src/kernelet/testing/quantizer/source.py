"""A small random model that writers of quantized checkpoints are given: all of it in memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor
from torch.nn import functional

from kernelet.contracts.quant import QuantLayer
from kernelet.contracts.quantizing import CalibratedBlock, InputGroup, ModuleInputs, Progress, QuantizerSource
from kernelet.errors import WeightsError
from kernelet.testing.quantization.layers import HIDDEN, MIDDLE, SHAPES, VOCAB, layer_of, weight_of

LAYERS = 3
TOKENS = 160
ATTENTION, MLP = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), ("mlp.gate_proj", "mlp.up_proj")


class RandomSource(QuantizerSource):
    """Layers that have the sizes of ``kernelet.testing.quantization.layers``, a norm before each half, and a head.

    A layer is a decoder's without rotation and softmax: each token's attention is its own value. Some channels of
    what comes from norms are large, as in real models.
    """

    model = "random"

    def __init__(self, dtype: torch.dtype = torch.float32, seed: int = 0, excluded: Collection[str] = ()) -> None:
        """Makes the weights; one seed always makes the same.

        Args:
            dtype: Of all tensors.
            seed: Of all of it.
            excluded: Names of modules that the user wants as they are.
        """
        self.folder = Path()
        self.config = {
            "architectures": ["KitForCausalLM"],
            "model_type": "kit",
            "hidden_size": HIDDEN,
            "intermediate_size": MIDDLE,
            "vocab_size": VOCAB,
            "num_hidden_layers": LAYERS,
            "torch_dtype": str(dtype).removeprefix("torch."),
        }
        self._excluded = frozenset(excluded)
        self.layers = _layers(str(dtype).removeprefix("torch."))
        self.values = {f"{x.name}.weight": weight_of(x.shape, seed + i, dtype) for i, x in enumerate(self.layers)}
        generator = torch.Generator().manual_seed(seed)
        for index in range(LAYERS):
            for norm in ("input_layernorm", "post_attention_layernorm"):
                gains = torch.rand(HIDDEN, generator=generator) + 0.5
                gains[torch.randint(HIDDEN, (4,), generator=generator)] *= 20
                self.values[f"model.layers.{index}.{norm}.weight"] = gains.to(dtype)
        self.values["model.norm.weight"] = torch.ones(HIDDEN, dtype=dtype)
        self.tensors = tuple(self.values)
        self._first = self._hidden = torch.randn(TOKENS, HIDDEN, generator=generator)
        self.written: dict[str, Tensor] = {}

    def excluded(self, layer: QuantLayer) -> bool:
        return layer.name in self._excluded

    def tensor(self, name: str) -> Tensor:
        if name not in self.values:
            raise WeightsError(f"{name}: there is no such tensor")
        return self.values[name].clone()

    def blocks(self) -> Iterator[CalibratedBlock]:
        for index in range(LAYERS):
            block = RandomBlock(self.layers, self.values, index, self._hidden)
            yield block
            self._hidden = block.output()

    def output(self, values: Mapping[str, Tensor]) -> Tensor:
        """States after the last layer, with other values of the same tensors."""
        hidden = self._first
        for index in range(LAYERS):
            hidden = RandomBlock(self.layers, {**values}, index, hidden).output()
        return hidden

    def save(
        self,
        folder: Path,
        made: Iterable[tuple[QuantLayer, Mapping[str, Tensor]]],
        quantization_config: Mapping[str, Any],
        progress: Progress,
    ) -> None:
        quantized = {}
        for layer, tensors in made:
            quantized[layer.name] = {f"{layer.name}.{suffix}": tensor for suffix, tensor in tensors.items()}
            progress(layer.name)
        self.written = {name: value for name, value in self.values.items() if name[: -len(".weight")] not in quantized}
        for tensors in quantized.values():
            self.written |= {name: tensor.contiguous() for name, tensor in tensors.items()}
        safetensors.torch.save_file(self.written, folder / "model.safetensors", {"format": "pt"})
        config = {**self.config, "quantization_config": dict(quantization_config)}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


class RandomBlock(CalibratedBlock):
    """A layer of ``RandomSource``, and the states of the calibration text before it."""

    def __init__(self, layers: Sequence[QuantLayer], values: dict[str, Tensor], index: int, hidden: Tensor) -> None:
        self.name = f"model.layers.{index}"
        self._values, self._hidden = values, hidden
        self.layers = tuple(layer for layer in layers if layer.name.startswith(f"{self.name}."))
        self.groups = (
            self._group(ATTENTION, "input_layernorm"),
            self._group(("self_attn.o_proj",)),
            self._group(MLP, "post_attention_layernorm"),
            self._group(("mlp.down_proj",), "mlp.up_proj"),
        )

    def inputs(self, group: InputGroup) -> ModuleInputs:
        return statistics(self.computed()[group.modules[0]])

    def weight(self, name: str) -> Tensor:
        return self._values[f"{name}.weight"].float().clone()

    def replace(self, name: str, weight: Tensor) -> None:
        held = self._values[f"{name}.weight"]
        assert weight.shape == held.shape
        self._values[f"{name}.weight"] = weight.to(held.dtype)

    def scale(self, group: InputGroup, factors: Tensor) -> None:
        before = self._values[f"{group.before}.weight"]
        divided = before.float() / (factors if before.dim() == 1 else factors[:, None])
        self._values[f"{group.before}.weight"] = divided.to(before.dtype)
        for name in group.modules:
            self.replace(name, self.weight(name) * factors)

    def output(self) -> Tensor:
        """States after the layer."""
        return self.computed()[""]

    def computed(self) -> dict[str, Tensor]:
        """What each module is given, and the output of all under the empty name."""
        normed = self._norm(self._hidden, "input_layernorm")
        found = dict.fromkeys(self.groups[0].modules, normed)
        value = normed @ self._own("self_attn.v_proj").T
        o_proj = self._own("self_attn.o_proj")
        attention = value.repeat(1, o_proj.shape[1] // value.shape[1])
        found[self.groups[1].modules[0]] = attention
        hidden = self._hidden + attention @ o_proj.T
        normed = self._norm(hidden, "post_attention_layernorm")
        found |= dict.fromkeys(self.groups[2].modules, normed)
        gate, up = (normed @ self._own(name).T for name in MLP)
        middle = functional.silu(gate) * up
        found[self.groups[3].modules[0]] = middle
        found[""] = hidden + middle @ self._own("mlp.down_proj").T
        return found

    def _own(self, name: str) -> Tensor:
        return self._values[f"{self.name}.{name}.weight"].float()

    def _norm(self, hidden: Tensor, name: str) -> Tensor:
        return functional.rms_norm(hidden, hidden.shape[-1:], self._own(name), 1e-6)

    def _group(self, names: Sequence[str], before: str = "") -> InputGroup:
        modules = tuple(f"{self.name}.{name}" for name in names)
        return InputGroup(modules=modules, before=before and f"{self.name}.{before}")


def statistics(inputs: Tensor, sample: int = 64) -> ModuleInputs:
    """Of inputs [tokens, in] that are all there."""
    values = inputs.float()
    rows = torch.linspace(0, len(values) - 1, min(sample, len(values))).long()
    return ModuleInputs(
        tokens=len(values),
        second_moment=values.T @ values / len(values),
        mean_magnitude=values.abs().mean(0),
        largest=values.abs().amax(0),
        sample=values[rows],
    )


def _layers(dtype: str) -> tuple[QuantLayer, ...]:
    names = [f"model.layers.{index}.{name}" for index in range(LAYERS) for name in SHAPES]
    found = [layer_of("model.embed_tokens", (VOCAB, HIDDEN), "embedding", dtype)]
    found += [layer_of(name, SHAPES[name.split(".", 3)[3]], dtype=dtype) for name in names]
    return (*found, layer_of("lm_head", (VOCAB, HIDDEN), dtype=dtype, head=True))
