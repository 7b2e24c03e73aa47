"""What the configuration says of a GPTQ checkpoint, in the spellings of AutoGPTQ, gptqmodel and transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gptq.rules import Block, Rules

METHODS = ("gptq", "gptq_marlin")
FORMATS = ("gptq", "gptq_v2")
BITS = (2, 3, 4, 8)

NO_MATTER = frozenset(
    {
        "act_group_aware",
        "amp",
        "autoround_version",
        "backend",
        "batch_size",
        "cache_block_outputs",
        "damp_auto_increment",
        "damp_percent",
        "dataset",
        "disable_exllama",
        "enable_minmax_tuning",
        "enable_norm_bias_tuning",
        "enable_quanted_input",
        "exllama_config",
        "gradient_accumulate_steps",
        "iters",
        "low_gpu_mem_usage",
        "lr",
        "max_input_length",
        "meta",
        "minmax_lr",
        "model_file_base_name",
        "model_name_or_path",
        "model_seqlen",
        "module_name_preceding_first_block",
        "mse",
        "nsamples",
        "pad_token_id",
        "provider",
        "scale_dtype",
        "seqlen",
        "tokenizer",
        "true_sequential",
        "use_cuda_fp16",
        "use_exllama",
    }
)
"""How the checkpoint was made, and how other engines compute: nothing that the tensors depend on."""

ONLY: Mapping[str, tuple[object, ...]] = {
    "activation": (None,),
    "data_type": ("int",),
    "is_marlin_format": (False,),
    "pack_dtype": ("int32",),
    "rotation": (None,),
}
"""Fields whose other values change the weights, and what they may be."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """How one module is stored.

    Attributes:
        bits: Of a value.
        group_size: Inputs that share a scale; -1: all.
        desc_act: Inputs were quantized in another order than the model's, and groups follow it.
        symmetric: Zero points are the middle.
    """

    bits: int = 4
    group_size: int = 128
    desc_act: bool = False
    symmetric: bool = False


@dataclass(frozen=True, kw_only=True)
class GptqConfig:
    """How the weights are stored.

    Attributes:
        form: Of modules that no rule changes.
        one_less: Zero points are stored less one: ``gptq``, and not ``gptq_v2``.
        static_groups: Groups follow the model's order also where ``desc_act`` is true.
        head: The output head is quantized too.
        rules: What single modules have of their own.
        block: Which modules are quantized at all.
    """

    form: Form
    one_less: bool
    static_groups: bool
    head: bool
    rules: Rules
    block: Block

    def of(self, name: str) -> Form | None:
        """The form of a module; None: it is not quantized."""
        inside = self.block.holds(name)
        changes = self.rules.of(name)
        return None if changes is None or not inside else replace(self.form, **changes)


def read_config(config: Mapping[str, Any]) -> GptqConfig:
    """Reads what a checkpoint says.

    Raises:
        UnsupportedModelError: a field is unknown, or has a value that is not served; names it.
    """
    left = {name: value for name, value in config.items() if name not in NO_MATTER and value is not None}
    meta = config.get("meta")
    for name, allowed in ONLY.items():
        one_of(name, left.pop(name, allowed[0]), allowed)
    one_of("quant_method", _take(left, "quant_method", "method", default="gptq"), METHODS)
    form = str(_take(left, "checkpoint_format", "format", default="gptq")).lower()
    one_of("checkpoint_format", form, FORMATS)
    static = left.pop("static_groups", meta.get("static_groups", False) if isinstance(meta, Mapping) else False)
    one_of("static_groups", static, (False, True))
    head = left.pop("lm_head", False)
    one_of("lm_head", head, (False, True))
    block = Block(
        _take(left, "block_name_to_quantize", "to_quant_block_names", default=None),
        left.pop("modules_in_block_to_quantize", None),
    )
    rules = Rules(left.pop("dynamic", None), read_changes)
    base = Form(**read_changes(left))
    if left:
        raise UnsupportedModelError(f"quantization_config: {', '.join(sorted(left))} is not known for GPTQ")
    return GptqConfig(
        form=base, one_less=form == "gptq", static_groups=bool(static), head=bool(head), rules=rules, block=block
    )


def read_changes(left: dict[str, Any], where: str = "") -> dict[str, Any]:
    """The fields of a form that are given; takes them out of ``left``.

    Raises:
        UnsupportedModelError: a value is not served; names it.
    """
    changes: dict[str, Any] = {}
    for field, names in {
        "bits": ("bits", "w_bit", "wbits"),
        "group_size": ("group_size", "q_group_size"),
        "desc_act": ("desc_act",),
        "symmetric": ("sym",),
    }.items():
        if (value := _take(left, *names, default=None)) is None:
            continue
        if field == "bits":
            one_of(f"{where}bits", value, BITS)
        elif field != "group_size":
            one_of(f"{where}{names[0]}", value, (False, True))
        elif type(value) is not int or (value < 1 and value != -1):
            raise UnsupportedModelError(
                f"quantization_config: {where}group_size is {value!r}, expected -1 or more than 0"
            )
        changes[field] = value
    return changes


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Checks a value.

    Raises:
        UnsupportedModelError: it is none of these.
    """
    if not any(type(value) is type(one) and value == one for one in allowed):
        expected = ", ".join(repr(one) for one in allowed if one is not None) or "none"
        raise UnsupportedModelError(f"quantization_config: {name} is {value!r}; GPTQ is read with {expected}")


def _take(left: dict[str, Any], *names: str, default: object) -> Any:
    """The value of a field that has several names; takes it out of ``left``."""
    found = {name: left.pop(name) for name in names if name in left}
    values = list(found.values())
    if any(value != values[0] for value in values):
        raise UnsupportedModelError(f"quantization_config: {found} differ, and mean the same")
    return values[0] if values else default
