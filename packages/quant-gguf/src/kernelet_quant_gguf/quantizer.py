"""Writes a model as one file."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantLayer
from kernelet.contracts.quantizing import Progress, Quantizer, QuantizerSource
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_gguf.architectures import Architecture
from kernelet_quant_gguf.config import hf_config
from kernelet_quant_gguf.file import FileTensor, GGUFFile
from kernelet_quant_gguf.names import heads_of
from kernelet_quant_gguf.source import describe
from kernelet_quant_gguf.types import BY_NAME, TYPES, TensorType
from kernelet_quant_gguf.writing.metadata import Factors, Fields, architecture_for, check, fields_of
from kernelet_quant_gguf.writing.tensors import Planned, plan
from kernelet_quant_gguf.writing.vocabulary import tokenizer_fields

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NAME = "model.gguf"
WRITTEN = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
"""Types that the format's own package quantizes to."""

DENSE = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
_FILE_TYPES = {"Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9}
"""``general.file_type``."""


@dataclasses.dataclass(frozen=True)
class _File(GGUFFile):
    """The file that is to be written."""

    factors: Factors = dataclasses.field(default_factory=dict)

    def floats(self, name: str, count: int) -> list[float]:
        found = self.factors.get(name, [])
        if len(found) != count:
            raise UnsupportedModelError(f"config.json has {len(found)} factors of wavelengths, expected {count}")
        return found


class GGUFQuantizer(Quantizer):
    """Rounds to the nearest with the quantizers of the ``gguf`` package; what is not quantized stays as it is."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._type = BY_NAME[str(settings["type"])]
        self._head = BY_NAME[str(settings["head"])] if settings["head"] != "none" else None

    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        architecture = architecture_for(source.config)
        layers = {f"{layer.name}.weight": layer for layer in source.layers}
        fields, factors = fields_of(architecture, source.config, _head_size(architecture, source, layers))
        planned = plan(architecture, _present(architecture, source), heads_of(architecture, fields))
        tensors = self._tensors(source, layers, planned, factors)
        said = _File(folder / NAME, fields, {tensor.name: tensor for tensor in tensors}, factors)
        check(architecture, source.config, hf_config(architecture, said))
        fields |= tokenizer_fields(source.folder, int(source.config["vocab_size"]))
        fields |= {"general.file_type": _FILE_TYPES[self._type.name], "general.quantization_version": 2}
        self._save(said, fields, planned, source, progress)
        for name, value in describe([said.path]).items():
            text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
            (folder / name).write_text(text, encoding="utf-8")

    def _tensors(
        self,
        source: QuantizerSource,
        layers: Mapping[str, QuantLayer],
        planned: Sequence[Planned],
        factors: Factors,
    ) -> list[FileTensor]:
        found = [FileTensor(name, BY_NAME["F32"], (len(values),), 0) for name, values in factors.items()]
        for one in planned:
            first = source.tensor(one.sources[0])
            shape = (len(one.sources), *first.shape) if one.stacked else tuple(first.shape)
            found.append(FileTensor(one.name, self._kind(source, layers, one, first), shape, 0))
        return found

    def _kind(
        self, source: QuantizerSource, layers: Mapping[str, QuantLayer], one: Planned, first: Tensor
    ) -> TensorType:
        modules = [layers[name] for name in one.sources if name in layers]
        if len(modules) < len(one.sources) or first.dim() < 2 or any(layer.router for layer in modules):
            return BY_NAME["F32"]
        left_out = [layer for layer in modules if source.excluded(layer)]
        if left_out and len(left_out) < len(modules):
            raise UnsupportedModelError(
                f"{left_out[0].name}: experts of a layer are excluded together, or none of them"
            )
        is_end = modules[0].head or modules[0].role == "embedding"
        kind = None if left_out else self._head if is_end else self._type
        if kind is None:
            if first.dtype not in DENSE:
                raise UnsupportedModelError(f"{modules[0].name}: {first.dtype} cannot be stored in a GGUF file")
            return BY_NAME[DENSE[first.dtype]]
        if first.shape[-1] % kind.block:
            raise UnsupportedModelError(
                f"{modules[0].name} has {first.shape[-1]} inputs, and {kind.name} needs blocks of {kind.block}: "
                f"exclude it"
            )
        return kind

    def _save(
        self, said: _File, fields: Fields, planned: Sequence[Planned], source: QuantizerSource, progress: Progress
    ) -> None:
        import numpy as np
        from gguf import GGMLQuantizationType, GGUFWriter

        numbers = {kind.name: number for number, kind in TYPES.items()}
        left = [layer.name for layer in source.layers]
        with contextlib.closing(GGUFWriter(said.path, fields["general.architecture"])) as writer:
            for key, value in fields.items():
                _add(writer, key, value)
            for tensor in said.tensors.values():
                kind = tensor.type
                stored = (*tensor.shape[:-1], kind.row_bytes(tensor.shape[-1]))
                raw = GGMLQuantizationType(numbers[kind.name])
                writer.add_tensor_info(tensor.name, stored, np.dtype(np.uint8), tensor.nbytes, raw)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_ti_data_to_file()
            for values in said.factors.values():
                writer.write_tensor_data(np.array(values, dtype="<f4"))
            for one in planned:
                writer.write_tensor_data(_bytes(source, one, said.tensors[one.name].type))
                for name in one.sources:
                    if (module := name.removesuffix(".weight")) in left:
                        left.remove(module)
                        progress(module)
        for module in left:  # a head that is the embedding
            progress(module)


def _present(architecture: Architecture, source: QuantizerSource) -> list[str]:
    """Tensors of the checkpoint, without a head that is the embedding."""
    head = f"{architecture.head}.weight"
    tied = bool(source.config.get("tie_word_embeddings")) or (head not in source.tensors)
    return [name for name in source.tensors if not (tied and name == head)]


def _head_size(architecture: Architecture, source: QuantizerSource, layers: Mapping[str, QuantLayer]) -> int:
    heads = int(source.config["num_attention_heads"])
    if "attn_q" in architecture.layer:
        name = f"{architecture.prefix.format(layer=0)}.{architecture.layer['attn_q']}.weight"
        if name in layers:
            return layers[name].shape[0] // heads
    return int(source.config.get("head_dim") or source.config["hidden_size"] // heads)


def _bytes(source: QuantizerSource, one: Planned, kind: TensorType) -> npt.NDArray[np.uint8]:
    """A tensor as the file has it."""
    import numpy as np
    from gguf import GGMLQuantizationType, quants

    found = []
    for name in one.sources:
        value = one.arrange(source.tensor(name))
        if not bool(torch.isfinite(value).all()):
            raise WeightsError(f"{name} has values that are infinite or no numbers")
        if kind.scheme is None:
            dtype: torch.dtype = getattr(torch, kind.dtype)
            found.append(value.to(dtype).contiguous().view(torch.uint8).numpy())
        else:
            number = next(number for number, other in TYPES.items() if other is kind)
            found.append(quants.quantize(value.float().numpy(), GGMLQuantizationType(number)))
    return np.stack(found) if one.stacked else found[0]


def _add(writer: Any, key: str, value: Any) -> None:
    if key == "general.architecture":
        return  # the writer says it itself
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, list | tuple):
        writer.add_array(key, list(value))
    elif isinstance(value, float) or key.endswith(
        ("_scale", ".scale", "softcapping", "epsilon", "freq_base", "factor")
    ):
        writer.add_float32(key, float(value))
    else:
        writer.add_uint32(key, int(value))
