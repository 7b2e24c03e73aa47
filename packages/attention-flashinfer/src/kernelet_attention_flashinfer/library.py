"""Imports the library, or says what is missing."""

from __future__ import annotations

import importlib
from typing import Any

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError


def load_library() -> Any:
    """The module ``flashinfer``.

    Raises:
        ConfigError: it is not installed, or was built for another torch or CUDA.
    """
    try:
        return importlib.import_module("flashinfer")
    except ImportError as error:
        raise ConfigError(
            f"FlashInfer cannot be imported ({error}): pip install flashinfer-python, or choose another attention with "
            "--attention-backend"
        ) from error


def check(_settings: Settings) -> None:
    """That the library is here."""
    load_library()
