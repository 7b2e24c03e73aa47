"""What config.json says, turned into the model's configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernelet.config import ModelConfig
from kernelet.contracts.model import HFConfig, ModelArchitectureOffer, ModelInfo
from kernelet.contracts.platform import Capabilities
from kernelet.contracts.plugins import Owned
from kernelet.contracts.quant import QuantOffer
from kernelet.engine.options import EngineOptions
from kernelet.engine.quantization import FindMethod, choose_quantization, read_beside, take_quantization
from kernelet.errors import ConfigError, ModelNotFoundError, UnsupportedModelError

FindArchitecture = Callable[[Sequence[str], HFConfig], tuple[Owned[ModelArchitectureOffer], ModelInfo]]
"""Who serves one of the names, and what it says about the model; raises UnsupportedModelError."""


def read_hf_config(folder: Path) -> dict[str, Any]:
    """config.json of a model folder.

    Raises:
        ModelNotFoundError: it is missing or no JSON object.
    """
    path = folder / "config.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(f"{path} cannot be read ({error}): it must be a model's configuration") from error
    if not isinstance(content, dict):
        raise ModelNotFoundError(f"{path} is no JSON object: it must be a model's configuration")
    return content


def architecture_names(hf_config: HFConfig) -> list[str]:
    """``architectures`` of config.json; empty where it states none."""
    names = hf_config.get("architectures")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def choose_dtype(asked: str, stated: str, capabilities: Capabilities) -> str:
    """The compute dtype. "auto" takes the checkpoint's own where the platform has it, else the platform's first.

    Raises:
        ConfigError: the platform does not compute in the dtype that was asked for.
    """
    if asked == "auto":
        return stated if stated in capabilities.dtypes else capabilities.dtypes[0]
    if asked not in capabilities.dtypes:
        raise ConfigError(
            f"--dtype {asked}: the platform computes in {', '.join(capabilities.dtypes)}: name one of them, or auto"
        )
    return asked


def choose_max_model_len(asked: int | None, made_for: int) -> int:
    """The context: what was asked for, within what the model was made for.

    Raises:
        ConfigError: more was asked for.
    """
    if asked is not None and asked > made_for:
        raise ConfigError(f"--max-model-len {asked}: the model was made for {made_for} tokens: lower it")
    return made_for if asked is None else asked


def build_model_config(
    name: str,
    folder: Path,
    options: EngineOptions,
    capabilities: Capabilities,
    find_architecture: FindArchitecture,
    find_method: FindMethod,
    methods: Sequence[QuantOffer] = (),
) -> ModelConfig:
    """Everything about the model that can be known without its weights.

    Args:
        name: What the operator called it.
        folder: Where it is.
        options: The operator's.
        capabilities: The platform's.
        find_architecture: Finds who serves it.
        find_method: Finds who knows how its weights are quantized.
        methods: All who might.

    Raises:
        ModelNotFoundError: config.json is damaged.
        UnsupportedModelError: nobody serves the architecture, or its offer refuses the configuration.
        SelectionError: no plugin knows how the weights are quantized.
        ConfigError: dtype, context or quantization do not fit.
    """
    hf_config, stored = take_quantization(read_hf_config(folder))
    if stored is None:
        stored = read_beside(folder, options.quantization, methods)
    quantization = choose_quantization(options.quantization, stored, find_method)
    owned, info = find_architecture(architecture_names(hf_config), hf_config)
    check_described(owned.offer.name, info)
    return ModelConfig(
        model=name,
        path=str(folder),
        architecture=owned.offer.name,
        hf_config=hf_config,
        dtype=choose_dtype(options.dtype, info.dtype, capabilities),
        vocab_size=info.vocab_size,
        max_model_len=choose_max_model_len(options.max_model_len, info.max_model_len),
        num_layers=info.num_layers,
        hidden_size=info.hidden_size,
        seed=options.load_seed,
        load_format=options.load_format,
        quantization=quantization,
        quantization_config=stored,
    )


def check_described(name: str, info: ModelInfo) -> None:
    """Sizes must be positive, or later errors would be about something else.

    Raises:
        UnsupportedModelError: one is not.
    """
    sizes: Sequence[tuple[str, int]] = (
        ("vocab_size", info.vocab_size),
        ("max_model_len", info.max_model_len),
        ("num_layers", info.num_layers),
    )
    for field, value in sizes:
        if value < 1:
            raise UnsupportedModelError(f"{name}: config.json gives {field} = {value}, expected at least 1")
