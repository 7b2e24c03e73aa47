"""Imports the libraries, or says what is missing."""

from __future__ import annotations

import importlib
from typing import Any

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError

SOURCE = "https://github.com/Dao-AILab/flash-attention"
MODULES = {2: "flash_attn", 3: "flash_attn_interface", 4: "flash_attn.cute"}
DISTRIBUTIONS = {2: "flash-attn", 3: "flash-attn-3", 4: "flash-attn-4"}


def load_library(generation: int) -> Any:
    """The module of a generation of FlashAttention.

    Raises:
        ConfigError: it is not installed, or was built for another torch or CUDA.
    """
    module = MODULES[generation]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"FlashAttention {generation} cannot be imported as {module} ({error}): install "
            f"{DISTRIBUTIONS[generation]} for this torch and CUDA ({SOURCE}), or choose another attention with "
            "--attention-backend"
        ) from error


def check_2(_settings: Settings) -> None:
    """That FlashAttention 2 is here."""
    load_library(2)


def check_3(_settings: Settings) -> None:
    """That FlashAttention 3 is here."""
    load_library(3)


def check_4(_settings: Settings) -> None:
    """That FlashAttention 4 is here."""
    load_library(4)
