"""Names of dtypes, and the dtype in which sums of another one are taken."""

from __future__ import annotations

import torch

from kernelet.errors import ConfigError

_BY_NAME = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def torch_dtype(name: str) -> torch.dtype:
    """The dtype of a name as it stands in a model's configuration.

    Raises:
        ConfigError: if no model can be computed in it.
    """
    if name not in _BY_NAME:
        raise ConfigError(f"dtype {name!r} is not supported; use one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def dtype_name(dtype: torch.dtype) -> str:
    """``torch.bfloat16`` -> ``"bfloat16"``."""
    return str(dtype).removeprefix("torch.")


def wide(dtype: torch.dtype) -> torch.dtype:
    """float32 for the 16-bit dtypes, else the dtype itself."""
    return torch.float32 if dtype.itemsize < 4 else dtype
