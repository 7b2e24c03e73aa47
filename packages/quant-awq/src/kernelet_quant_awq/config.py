"""What ``quantization_config`` says of an AWQ checkpoint, in the spellings of autoawq, gptqmodel and transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelet.contracts.quant import ModulePatterns
from kernelet.errors import UnsupportedModelError

METHODS = ("awq", "awq_marlin")
LAYOUTS = ("gemm", "gemv")

NO_MATTER = frozenset(
    {
        "act_group_aware",
        "backend",
        "batch_size",
        "block_name_to_quantize",
        "cache_block_outputs",
        "damp_percent",
        "dataset",
        "do_fuse",
        "exllama_config",
        "fuse_max_seq_len",
        "max_input_length",
        "meta",
        "model_seqlen",
        "module_name_preceding_first_block",
        "modules_to_fuse",
        "pad_token_id",
        "tokenizer",
        "true_sequential",
    }
)
"""How the checkpoint was made, and how other engines compute: nothing that the tensors depend on."""

ONLY: Mapping[str, tuple[object, ...]] = {
    "activation": (None,),
    "desc_act": (False,),
    "dynamic": (None, {}),
    "modules_in_block_to_quantize": (None,),
    "pack_dtype": ("int32",),
    "rotation": (None,),
}
"""Fields whose other values change the weights, and what they may be."""


@dataclass(frozen=True, kw_only=True)
class AwqConfig:
    """How the weights are stored.

    Attributes:
        layout: ``"gemm"``: words along outputs, interleaved; ``"gemv"``: words along inputs.
        group_size: Inputs that share a scale; -1: all.
        zero_point: Groups have zero points; if not, all of them are 8.
        head: The output head is quantized too.
        skipped: Modules that are not quantized.
    """

    layout: str
    group_size: int
    zero_point: bool
    head: bool
    skipped: tuple[str, ...]


def read_config(config: Mapping[str, Any]) -> AwqConfig:
    """Reads what a checkpoint says.

    Raises:
        UnsupportedModelError: a field is unknown, or has a value that is not served; names it.
    """
    left = {name: value for name, value in config.items() if name not in NO_MATTER}
    if config.get("backend") == "llm-awq":
        raise UnsupportedModelError("quantization_config: backend 'llm-awq' is another layout; convert it with autoawq")
    for name, allowed in ONLY.items():
        _one_of(name, left.pop(name, allowed[0]), allowed)
    _one_of("quant_method", _take(left, "quant_method", "method", default="awq"), METHODS)
    _one_of("bits", _take(left, "bits", "w_bit", default=4), (4,))
    layout = str(_take(left, "version", "format", "checkpoint_format", default="gemm")).lower()
    _one_of("version", layout, LAYOUTS)
    group_size = _take(left, "group_size", "q_group_size", default=128)
    if type(group_size) is not int or (group_size < 1 and group_size != -1):
        raise UnsupportedModelError(f"quantization_config: group_size is {group_size!r}, expected -1 or more than 0")
    if layout == "gemv" and (group_size < 32 or group_size % 32 or group_size == 96):
        raise UnsupportedModelError(f"quantization_config: version gemv has no group_size {group_size}")
    symmetric = _flag(left, "sym", default=False)
    zero_point = _flag(left, "zero_point", default=not symmetric)  # transformers writes its default of sym beside it
    head = _flag(left, "lm_head", default=False)
    skipped = left.pop("modules_to_not_convert", None) or ()
    _check_names(skipped)
    if left:
        raise UnsupportedModelError(f"quantization_config: {', '.join(sorted(left))} is not known for AWQ")
    return AwqConfig(layout=layout, group_size=group_size, zero_point=zero_point, head=head, skipped=tuple(skipped))


def _take(left: dict[str, Any], *names: str, default: object) -> Any:
    """The value of a field that has several names; takes it out of ``left``."""
    found = {name: left.pop(name) for name in names if left.get(name) is not None}
    for name in names:
        left.pop(name, None)
    values = list(found.values())
    if any(str(value).lower() != str(values[0]).lower() for value in values):
        raise UnsupportedModelError(f"quantization_config: {found} differ, and mean the same")
    return values[0] if values else default


def _flag(left: dict[str, Any], name: str, *, default: bool) -> bool:
    value = left.pop(name, None)
    if value is None:
        return default
    _one_of(name, value, (True, False))
    return bool(value)


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if not any(type(value) is type(one) and value == one for one in allowed) and value is not None:
        expected = " or ".join(repr(one) for one in allowed if one is not None)
        raise UnsupportedModelError(
            f"quantization_config: {name} is {value!r}; AWQ is read with {expected or f'no {name}'}"
        )


def _check_names(skipped: object) -> None:
    if not isinstance(skipped, list | tuple) or not all(isinstance(name, str) for name in skipped):
        raise UnsupportedModelError(f"quantization_config: modules_to_not_convert is {skipped!r}, expected a list")
    try:
        ModulePatterns(skipped)
    except ValueError as error:
        raise UnsupportedModelError(f"quantization_config: modules_to_not_convert: {error}") from error
