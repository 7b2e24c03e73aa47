"""A management library with GPUs of our choice, whose functions take what the real ones take."""

# ruff: noqa: N802 - names of the library
from __future__ import annotations

from types import SimpleNamespace

import pynvml

H100 = {
    "uuid": "GPU-8932f937-d72c-4106",
    "name": "NVIDIA H100",
    "capability": (9, 0),
    "memory": 80 << 30,
    "cores": 16896,
}
T4 = {"uuid": "GPU-11111111-2222-3333", "name": "Tesla T4", "capability": (7, 5), "memory": 16 << 30, "cores": 2560}


def part(number, memory=10 << 30):
    """A MIG instance."""
    return {"uuid": f"MIG-{number}111-part", "name": "H100 MIG 1g.10gb", "memory": memory, "multiprocessors": 16}


class FakeNvml:
    """Handles are the dictionaries above; ``parts`` of a GPU make it one in MIG mode."""

    NVMLError = pynvml.NVMLError
    NVMLError_NotFound = pynvml.NVMLError_NotFound
    NVMLError_NotSupported = pynvml.NVMLError_NotSupported
    NVML_DEVICE_MIG_ENABLE = pynvml.NVML_DEVICE_MIG_ENABLE

    def __init__(self, gpus, error=None):
        self.gpus, self.error, self.open = gpus, error, 0

    def nvmlInit(self):
        if self.error:
            raise self.error
        self.open += 1

    def nvmlShutdown(self):
        self.open -= 1

    def nvmlSystemGetDriverVersion(self):
        return "580.1"

    def nvmlDeviceGetCount(self):
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index):
        if "error" in self.gpus[index]:
            raise self.gpus[index]["error"]
        return self.gpus[index]

    def nvmlDeviceGetCudaComputeCapability(self, handle):
        return handle["capability"]

    def nvmlDeviceGetUUID(self, handle):
        return handle["uuid"].encode()

    def nvmlDeviceGetName(self, handle):
        return handle["name"]

    def nvmlDeviceGetMemoryInfo(self, handle):
        if handle["memory"] is None:
            raise pynvml.NVMLError_NotSupported
        return SimpleNamespace(total=handle["memory"], free=1, used=2)

    def nvmlDeviceGetMigMode(self, handle):
        if handle.get("may_not_ask"):
            raise pynvml.NVMLError_NoPermission
        if handle["capability"] < (8, 0):
            raise pynvml.NVMLError_NotSupported
        mode = pynvml.NVML_DEVICE_MIG_ENABLE if "parts" in handle else pynvml.NVML_DEVICE_MIG_DISABLE
        return [mode, mode]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle):
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, device, index):
        if index >= len(device["parts"]):
            raise pynvml.NVMLError_NotFound
        return device["parts"][index]

    def nvmlDeviceGetAttributes(self, device):
        return SimpleNamespace(multiprocessorCount=device["multiprocessors"])

    def nvmlDeviceGetNumGpuCores(self, handle):
        if "cores" not in handle:
            raise pynvml.NVMLError_FunctionNotFound
        return handle["cores"]
