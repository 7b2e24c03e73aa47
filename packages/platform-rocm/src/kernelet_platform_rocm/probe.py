"""Whether the ROCm platform can run here."""

from __future__ import annotations

from kernelet.contracts.platform import Probe
from kernelet_device_torch.build import torch_build
from kernelet_platform_rocm.kfd import NoDriverError, look_up, names, visible_gpus, visible_values


def probe() -> Probe:
    """Available where the kernel knows a GPU that this process sees, and torch was built for it."""
    try:
        machine = look_up()
    except NoDriverError as error:
        return Probe(available=False, reason=str(error))
    if not machine:
        return Probe(available=False, reason="the AMD GPU driver is loaded, and knows no GPU that computes")
    values = visible_values()
    gpus = visible_gpus(machine, values)
    if not gpus:
        said = ", ".join(f"{name}={value!r}" for name, value in values.items() if value is not None)
        return Probe(available=False, reason=f"there is {names(machine)}, but {said} leaves none visible")
    version, why_not = torch_build("hip")
    if version is None:
        return Probe(available=False, reason=f"there is {names(gpus)}, but {why_not}: install the ROCm build of torch")
    return Probe(available=True, priority=100, reason=f"{names(gpus)}, torch for HIP {version}")
