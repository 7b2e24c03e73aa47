"""The kernels in C++: whether this installation has them, and which instruction set they use."""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from types import ModuleType

from kernelet.config import env
from kernelet.errors import ConfigError

logger = logging.getLogger(__name__)

DTYPES = ("float32", "bfloat16", "float16", "float64")
"""In the order of the enum in native/common/types.h."""


@cache
def native() -> ModuleType | None:
    """The extension module; None where it was not built, which is said once.

    KERNELET_CPU_ISA names the instruction set (``portable``, ``avx2``, ``avx512``, ``avx512bf16``), or ``torch`` for no
    kernels of our own; unset takes the fastest that the processor has.

    Raises:
        ConfigError: the processor or the build lacks the instruction set that is asked for.
    """
    wanted = env.get("CPU_ISA") or ""
    if wanted == "torch":
        return None
    try:
        module = import_module("kernelet_platform_cpu._native")
    except ImportError as error:
        if wanted:
            raise ConfigError(
                f"KERNELET_CPU_ISA={wanted}, but platform-cpu was installed without its kernels"
            ) from error
        logger.warning(
            "platform-cpu was installed without its own kernels (%s); it computes with torch, several times slower: "
            "install a C++20 compiler and run pip install --force-reinstall --no-deps kernelet-platform-cpu",
            error,
        )
        return None
    try:
        module.choose_isa(wanted)
    except ValueError as error:
        available = ", ".join((*module.available_isas(), "torch"))
        raise ConfigError(f"KERNELET_CPU_ISA={wanted}: {error}; this processor can use {available}") from error
    return module


def required() -> ModuleType:
    """The extension module, for what is only selected where there is one.

    Raises:
        ConfigError: there is none.
    """
    module = native()
    if module is None:
        raise ConfigError(
            "this part of platform-cpu needs its own kernels: install them (a C++20 compiler, then pip install "
            "--force-reinstall --no-deps kernelet-platform-cpu), and do not set KERNELET_CPU_ISA=torch"
        )
    return module
