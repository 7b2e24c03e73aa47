"""Whether the CUDA platform can run here."""

from __future__ import annotations

from kernelet.contracts.platform import Probe
from kernelet_device_torch.build import torch_build
from kernelet_platform_cuda.nvml import VARIABLE, NoDriverError, look_up, names, visible_gpus, visible_value


def probe() -> Probe:
    """Available where the driver knows a GPU that this process sees, and torch was built for it."""
    try:
        machine, value = look_up(), visible_value()
        gpus = visible_gpus(machine, value)
    except NoDriverError as error:
        return Probe(available=False, reason=str(error))
    if not machine.gpus:
        return Probe(available=False, reason=f"the NVIDIA driver {machine.driver} knows no GPU")
    if not gpus:
        hidden = f"{VARIABLE}={value!r} leaves none visible" if value is not None else "no MIG instance was made"
        return Probe(available=False, reason=f"there is {names(machine.gpus)}, but {hidden}")
    version, why_not = torch_build("cuda")
    if version is None:
        return Probe(available=False, reason=f"there is {names(gpus)}, but {why_not}: install the CUDA build of torch")
    return Probe(
        available=True, priority=100, reason=f"{names(gpus)} with driver {machine.driver}, torch for CUDA {version}"
    )
