"""What ``quantization_config`` says of an AWQ checkpoint, in the spellings of autoawq, gptqmodel and transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelet.contracts.quant import ModulePatterns
from kernelet.contracts.quant_config import ConfigFields
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
    "activation": (),
    "desc_act": (False,),
    "dynamic": ({},),
    "modules_in_block_to_quantize": (),
    "pack_dtype": ("int32",),
    "rotation": (),
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
    if config.get("backend") == "llm-awq":
        raise UnsupportedModelError("quantization_config: backend 'llm-awq' is another layout; convert it with autoawq")
    fields = ConfigFields(config, "AWQ", no_matter=NO_MATTER)
    for name, allowed in ONLY.items():
        fields.choice(name, allowed=allowed)
    fields.choice("quant_method", "method", allowed=METHODS)
    fields.choice("bits", "w_bit", allowed=(4,))
    layout = fields.choice("version", "format", "checkpoint_format", allowed=LAYOUTS) or "gemm"
    group_size = fields.group_size("group_size", "q_group_size") or 128
    if layout == "gemv" and (group_size < 32 or group_size % 32 or group_size == 96):
        raise UnsupportedModelError(f"quantization_config: version gemv has no group_size {group_size}")
    symmetric = fields.flag("sym", default=False)
    zero_point = fields.flag("zero_point", default=not symmetric)  # transformers writes its default of sym beside it
    head = fields.flag("lm_head", default=False)
    skipped = fields.take("modules_to_not_convert") or ()
    _check_names(skipped)
    fields.done()
    return AwqConfig(layout=layout, group_size=group_size, zero_point=zero_point, head=head, skipped=tuple(skipped))


def _check_names(skipped: object) -> None:
    if not isinstance(skipped, list | tuple) or not all(isinstance(name, str) for name in skipped):
        raise UnsupportedModelError(f"quantization_config: modules_to_not_convert is {skipped!r}, expected a list")
    try:
        ModulePatterns(skipped)
    except ValueError as error:
        raise UnsupportedModelError(f"quantization_config: modules_to_not_convert: {error}") from error
