"""Every tensor of a checkpoint to its parameter, and every parameter filled."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch import Tensor, nn

from kernelet.contracts.model import WeightReader
from kernelet.errors import WeightsError

PREFIX = "transformer."

TRANSPOSED = re.compile(r"h\.\d+\.(attn|mlp)\.c_\w+\.weight")
"""GPT-2 stores these as [in, out]."""

BUFFERS = re.compile(r"h\.\d+\.attn\.(masked_)?bias")
"""The causal mask, which old checkpoints hold."""


def fill(model: nn.Module, reader: WeightReader, *, tied: bool) -> Iterator[str]:
    """Copies a checkpoint into a model's parameters; yields each name once it was consumed.

    Names may have the prefix, as `transformers` saves them, or not, as in the first checkpoints.

    Raises:
        WeightsError: a tensor is missing, there twice, of another shape, or not one of this architecture.
    """
    parameters = dict(model.named_parameters())
    missing = set(parameters)
    prefix = PREFIX if any(source.startswith(PREFIX) for source in reader.names()) else ""
    for source in reader.names():
        name = source.removeprefix(PREFIX)
        if name in missing:
            missing.discard(name)
            value = reader.read(source)
            copy(source, value.t() if TRANSPOSED.fullmatch(name) else value, parameters[name])
        elif name in parameters:
            raise WeightsError(f"{source} is in the checkpoint twice, with and without the prefix {PREFIX!r}")
        elif not BUFFERS.fullmatch(name) and not (tied and name == "lm_head.weight"):
            raise WeightsError(f"nothing takes {source}: the checkpoint is of another architecture")
        yield source
    if missing:
        names = sorted(name if name.startswith("lm_head") else prefix + name for name in missing)
        raise WeightsError(f"the checkpoint misses {', '.join(names[:8])}: fetch the model again")


def copy(source: str, value: Tensor, target: nn.Parameter) -> None:
    """Copies a tensor of the parameter's shape, whatever its floating dtype.

    Raises:
        WeightsError: the shape differs, or it holds no floating-point numbers.
    """
    if value.shape != target.shape or not value.is_floating_point():
        raise WeightsError(
            f"{source} is {value.dtype} {list(value.shape)}, expected floating-point {list(target.shape)}: "
            "config.json and weights do not belong together"
        )
    target.data.copy_(value)
