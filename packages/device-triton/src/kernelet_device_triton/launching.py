"""Where kernels are launched."""

from __future__ import annotations

import torch

from kernelet.errors import ConfigError
from kernelet_device_triton.interpreter import interpreting, repair
from kernelet_device_triton.targets import INTERPRETER, Target, target_of


def target_for(device: torch.device) -> Target:
    """The target of tensors of a device; that of a CPU is the interpreter, which is made right.

    Raises:
        ConfigError: the compiler does not know the device, or it is a CPU and kernels are compiled.
    """
    target = target_of(device)
    if target == INTERPRETER:
        if not interpreting():
            raise ConfigError(
                "kernels in Triton need a device that its compiler knows, and there is a CPU alone: choose another "
                "platform's, or set TRITON_INTERPRET=1 before the start to interpret them, for tests"
            )
        repair()
    return target
