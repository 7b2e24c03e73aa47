"""A format that stores canonical tensors as they are, of any scheme, and readers of tensors in memory."""

from __future__ import annotations

import torch

from kernelet.contracts.model import WeightReader
from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantizationMethod
from kernelet.errors import WeightsError
from kernelet.layers.canonical import form
from kernelet.testing.tensors import make_context
from kernelet.testing.weight_kernel import dequantize, make_weights


class AsIs(QuantizationMethod):
    """Modules by name have schemes; the others are unquantized."""

    def __init__(self, schemes, settings=None):
        super().__init__(settings or Settings(plugin="as-is"), {"quant_method": "as-is"}, None)
        self.schemes = schemes

    def scheme(self, layer):
        return self.schemes.get(layer.name)

    def stored(self, layer):
        return tuple(form(self.schemes[layer.name], layer.shape))

    def canonical(self, layer, stored):
        found = {name: tuple(tensor.shape) for name, tensor in stored.items() if name != "extra"}
        if found != form(self.schemes[layer.name], layer.shape):
            raise WeightsError(f"{layer.name} has {found}")
        return {name: tensor for name, tensor in stored.items() if name != "extra"}

    def identity(self):
        return "1"


class InMemory(WeightReader):
    """Notes what is read."""

    def __init__(self, tensors):
        self.tensors = tensors
        self.read_names = []

    def names(self):
        return sorted(self.tensors)

    def shape(self, name):
        return tuple(self.tensors[name].shape)

    def read(self, name, rows=None):
        self.read_names.append(name)
        return self.tensors[name] if rows is None else self.tensors[name][rows]

    def nbytes(self, name=None):
        return sum(tensor.nbytes for key, tensor in self.tensors.items() if name in {None, key})

    def identity(self, name):
        return f"content of {name}"


def random_checkpoint(shapes, schemes, seed=0):
    """Tensors of modules: as they are stored, and the weights that these stand for, by name."""
    stored, weights = {}, {}
    generator = torch.Generator().manual_seed(seed)
    for index, (name, shape) in enumerate(shapes.items()):
        if (scheme := schemes.get(name)) is None:
            weight = torch.randn(shape, generator=generator, dtype=torch.float64)
            stored[f"{name}.weight"] = weights[f"{name}.weight"] = weight
        else:
            made = make_weights(scheme, shape, torch.float64, seed + index)
            stored |= {f"{name}.{key}": tensor for key, tensor in made.items()}
            weights[f"{name}.weight"] = dequantize(made, scheme)
    return stored, weights


def quantized_context(schemes, **options):
    """A context of float64 whose checkpoint is stored as it is."""
    context = make_context(dtype=torch.float64, **options)
    context.quantization = AsIs(schemes)
    return context
