"""Imports Mooncake, or says what is missing."""

from __future__ import annotations

import importlib
from typing import Any

from kernelet.errors import ConfigError


def load_library(module: str) -> Any:
    """``mooncake.engine`` or ``mooncake.store``.

    Raises:
        ConfigError: it is not installed, or lacks a library of the system.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if "ibverbs" in str(error):
            advice = "it needs libibverbs, also where there is no RDMA: apt-get install libibverbs1"
        else:
            advice = (
                "pip install mooncake-transfer-engine-non-cuda (mooncake-transfer-engine on a machine with CUDA), "
                "and apt-get install libibverbs1"
            )
        raise ConfigError(f"kv-mooncake needs {module}, which cannot be imported ({error}): {advice}") from error
