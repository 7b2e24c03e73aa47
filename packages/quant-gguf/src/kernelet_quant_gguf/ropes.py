"""Rotary embeddings of a file, in the form of config.json."""

from __future__ import annotations

from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.architectures import Architecture
from kernelet_quant_gguf.file import GGUFFile

BASE = 10_000.0
"""Where the file has none; that of llama.cpp."""

FACTORS = "rope_freqs.weight"
LONG, SHORT = "rope_factors_long.weight", "rope_factors_short.weight"
YARN = {
    "yarn_attn_factor": "attention_factor",
    "yarn_beta_fast": "beta_fast",
    "yarn_beta_slow": "beta_slow",
}


def rope_of(architecture: Architecture, file: GGUFFile, head_size: int) -> dict[str, Any]:
    """``rope_theta``, ``rope_scaling`` and what goes with them.

    Raises:
        UnsupportedModelError: a scaling that is not served.
    """
    said = {
        key.removeprefix(f"{architecture.gguf}.rope."): value
        for key, value in file.fields.items()
        if key.startswith(f"{architecture.gguf}.rope.")
    }
    trained = int(file.fields[f"{architecture.gguf}.context_length"])
    config: dict[str, Any] = {"rope_theta": said.get("freq_base", BASE)}
    if architecture.gguf == "gemma3":
        config["rope_local_base_freq"] = said.get("freq_base_swa", BASE)
    scaling = _scaling(file, said, trained, int(said.get("dimension_count") or head_size))
    if scaling is not None:
        config["rope_scaling"] = scaling
        if scaling["rope_type"] == "longrope" and architecture.gguf == "phi3":
            config["original_max_position_embeddings"] = scaling["original_max_position_embeddings"]
    return config


def _scaling(file: GGUFFile, said: dict[str, Any], trained: int, size: int) -> dict[str, Any] | None:
    original = int(said.get("scaling.original_context_length") or trained)
    if LONG in file.tensors or SHORT in file.tensors:
        factors = {"long_factor": file.floats(LONG, size // 2), "short_factor": file.floats(SHORT, size // 2)}
        scaling = {"rope_type": "longrope", "original_max_position_embeddings": original, **factors}
        if (attention := said.get("scaling.attn_factor")) is not None:
            scaling["attention_factor"] = attention
        return scaling
    if FACTORS in file.tensors:  # the bands of Llama 3, already a factor a frequency
        factors = dict.fromkeys(("long_factor", "short_factor"), file.floats(FACTORS, size // 2))
        bands = {"rope_type": "longrope", "attention_factor": 1.0, "original_max_position_embeddings": trained}
        return bands | factors
    kind = said.get("scaling.type")
    factor = said.get("scaling.factor") or said.get("scale_linear")
    if kind == "none" or factor in {None, 0, 1.0}:
        return None
    if kind in {None, "linear"}:
        return {"rope_type": "linear", "factor": factor}
    if kind != "yarn":
        raise UnsupportedModelError(f"{file.path}: rope.scaling.type = {kind!r} is not served; linear and yarn are")
    options = {name: said[f"scaling.{key}"] for key, name in YARN.items() if f"scaling.{key}" in said}
    if "attention_factor" not in options and "scaling.attn_factor" in said:
        options["attention_factor"] = said["scaling.attn_factor"]
    return {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original, **options}
