"""``quantization_config`` of fp8 checkpoints, field by field; what is not served is refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from kernelet.contracts.quant_config import read_struct
from kernelet.errors import UnsupportedModelError


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What writers say.

    Attributes:
        quant_method: The format's name.
        activation_scheme: Inputs have a scale a token, or one that the checkpoint holds.
        weight_block_size: Elements a scale covers as (out, in); None: a scale a tensor, or an output.
        ignored_layers: Modules that are not quantized.
        modules_to_not_convert: The same, as other writers call it.
        modules_to_convert: Embeddings that are quantized.
        fmt: Element type.
        scale_fmt: How scales are stored; their dtype says it too.
        dequantize: What the writer's loader should do.
        expert_dtype: Element type of experts.
        kv_cache_scheme: Another plugin's affair.
    """

    quant_method: Literal["fp8"]
    activation_scheme: Literal["dynamic", "static"] = "dynamic"
    weight_block_size: tuple[int, int] | None = None
    ignored_layers: list[str] | None = None
    modules_to_not_convert: list[str] | None = None
    modules_to_convert: list[str] | None = None
    fmt: Literal["e4m3", "e4m3fn", "float8_e4m3fn"] = "e4m3"
    scale_fmt: Literal["float", "ue8m0"] | None = None
    dequantize: bool = False
    expert_dtype: Literal["fp8"] = "fp8"
    kv_cache_scheme: Any = None

    @property
    def skipped(self) -> list[str]:
        """Entries of both lists."""
        return [*(self.ignored_layers or ()), *(self.modules_to_not_convert or ())]


def read(config: Mapping[str, Any] | None) -> Configuration:
    """Checks what is said of a checkpoint.

    Raises:
        UnsupportedModelError: a field is unknown, or has a value that is not served; it is named.
    """
    said = read_struct(config, Configuration, "fp8")
    if said.weight_block_size is not None and min(said.weight_block_size) <= 0:
        raise UnsupportedModelError(
            f"quantization_config.weight_block_size is {list(said.weight_block_size)}; it must be positive"
        )
    if said.modules_to_convert:
        raise UnsupportedModelError(
            f"quantization_config.modules_to_convert is {said.modules_to_convert}: embeddings in fp8 are not served"
        )
    return said
