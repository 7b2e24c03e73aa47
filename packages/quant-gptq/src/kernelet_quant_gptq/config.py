"""What the configuration says of a GPTQ checkpoint, in the spellings of AutoGPTQ, gptqmodel and transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kernelet.contracts.quant_config import ConfigFields
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
    "activation": (),
    "data_type": ("int",),
    "is_marlin_format": (False,),
    "pack_dtype": ("int32",),
    "rotation": (),
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
    fields = ConfigFields(config, "GPTQ", no_matter=NO_MATTER)
    meta = config.get("meta")
    for name, allowed in ONLY.items():
        fields.choice(name, allowed=allowed)
    fields.choice("quant_method", "method", allowed=METHODS)
    form = fields.choice("checkpoint_format", "format", allowed=FORMATS) or "gptq"
    static = fields.flag("static_groups", default=isinstance(meta, Mapping) and meta.get("static_groups") is True)
    head = fields.flag("lm_head", default=False)
    block = Block(
        fields.take("block_name_to_quantize", "to_quant_block_names"), fields.take("modules_in_block_to_quantize")
    )
    rules = Rules(fields.take("dynamic"), read_changes)
    base = Form(**read_changes(fields))
    fields.done()
    return GptqConfig(form=base, one_less=form == "gptq", static_groups=static, head=head, rules=rules, block=block)


def read_changes(fields: ConfigFields) -> dict[str, Any]:
    """What is said of a form; takes it out of the fields.

    Raises:
        UnsupportedModelError: a value is not served; names it.
    """
    said = {
        "bits": fields.choice("bits", "w_bit", "wbits", allowed=BITS),
        "group_size": fields.group_size("group_size", "q_group_size"),
        "desc_act": fields.choice("desc_act", allowed=(False, True)),
        "symmetric": fields.choice("sym", allowed=(False, True)),
    }
    return {name: value for name, value in said.items() if value is not None}
