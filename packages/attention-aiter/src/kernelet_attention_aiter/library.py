"""Imports the library, or says what is missing."""

from __future__ import annotations

import importlib
from typing import Any

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError


def load_library() -> Any:
    """The module ``aiter``.

    Raises:
        ConfigError: it is not installed, another library has its name, or it was built for another torch or ROCm.
    """
    advice = "install amd-aiter (https://github.com/ROCm/aiter), or choose another attention with --attention-backend"
    try:
        library = importlib.import_module("aiter")
    except ImportError as error:
        raise ConfigError(f"AITER cannot be imported ({error}): {advice}") from error
    if not hasattr(library, "mha_batch_prefill_func"):
        raise ConfigError(f"the module aiter has no mha_batch_prefill_func, so it is another or an older one: {advice}")
    return library


def check(_settings: Settings) -> None:
    """That the library is here."""
    load_library()
