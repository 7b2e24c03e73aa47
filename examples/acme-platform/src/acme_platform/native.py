"""The compiled library: where it is, and loading it. Only loading needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelet.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

REBUILD = "pip install --force-reinstall --no-deps --no-build-isolation acme-platform"


def library() -> Path:
    """The file that setup.py builds."""
    return Path(__file__).with_name("kernels.abi3.so")


def missing() -> str:
    """Why the library cannot be here; empty if it is."""
    if library().is_file():
        return ""
    return f"its compiled library is missing ({library()}): take a wheel for this machine, or build one with {REBUILD}"


def load_act_and_mul() -> Callable[[Tensor, str], Tensor]:
    """The op in C++; loading it again changes nothing.

    Raises:
        PluginError: the library is missing, or made for another machine or torch.
    """
    import torch

    if reason := missing():
        raise PluginError(f"acme-platform cannot run: {reason}")
    try:
        torch.ops.load_library(library())
    except OSError as error:
        raise PluginError(
            f"acme-platform cannot run: its compiled library does not load with torch {torch.__version__} here "
            f"({error.__cause__ or error}): build it with {REBUILD}"
        ) from error
    op: Callable[[Tensor, str], Tensor] = torch.ops.acme_platform.act_and_mul.default
    return op
