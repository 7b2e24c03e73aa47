"""GPUs as the driver's management library knows them: no context is made, and torch is not imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kernelet.config import env
from kernelet.config.host_memory import available_memory
from kernelet.errors import ConfigError
from kernelet_device_torch.visible import visible

VARIABLE = "CUDA_VISIBLE_DEVICES"
WIDE = frozenset({(7, 0), (7, 2), (7, 5), (8, 0)})
"""Compute capabilities whose multiprocessors have 64 cores; those of the others have 128."""


class NoDriverError(ConfigError):
    """GPUs cannot be looked up; says why."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU, or a part of one (MIG) that looks like one.

    Attributes:
        compute_capability: (major, minor).
        memory_bytes: Total memory.
        multiprocessors: Number of them; 1 where the driver does not say.
        parts: MIG instances in its place, where it is divided.
        divided: It is in MIG mode: processes see its instances only.
        error: Why nothing else is known of it; empty: it answers.
    """

    uuid: str
    name: str
    compute_capability: tuple[int, int]
    memory_bytes: int
    multiprocessors: int = 1
    parts: tuple[Gpu, ...] = ()
    divided: bool = False
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the driver says: its version, and its GPUs in the order of the bus."""

    driver: str
    gpus: tuple[Gpu, ...]


def visible_gpus(machine: Machine, value: str | None) -> tuple[Gpu, ...]:
    """What a process sees, in its order; of a divided GPU that is named by itself, the first instance.

    Args:
        machine: As ``look_up`` found it.
        value: Of ``CUDA_VISIBLE_DEVICES``; None: it is not set.

    Raises:
        NoDriverError: one of them does not answer.
    """
    if value is not None and value.strip().upper().startswith("MIG-"):
        parts = [part for gpu in machine.gpus for part in gpu.parts]
        return tuple(parts[index] for index in visible(value, [part.uuid for part in parts]))[:1]
    seen = (machine.gpus[index] for index in visible(value, [gpu.uuid for gpu in machine.gpus]))
    found = tuple(one for gpu in seen for one in (gpu.parts[:1] if gpu.divided else (gpu,)))
    for gpu in found:
        if gpu.error:
            raise NoDriverError(f"{gpu.name} does not answer ({gpu.error}): leave it out of {VARIABLE}")
    return found


def look_up() -> Machine:
    """Asks the driver.

    Raises:
        NoDriverError: there is none, or it does not answer.
    """
    if find_spec("pynvml") is None:
        raise NoDriverError("NVIDIA's management library cannot be asked: pip install nvidia-ml-py")
    nvml: Any = import_module("pynvml")
    with _session(nvml):
        return Machine(
            driver=_text(nvml.nvmlSystemGetDriverVersion()),
            gpus=tuple(_gpu(nvml, index) for index in range(nvml.nvmlDeviceGetCount())),
        )


def visible_value() -> str | None:
    """``CUDA_VISIBLE_DEVICES``, which the management library does not look at."""
    return env.of_system(VARIABLE)


@contextmanager
def _session(nvml: Any) -> Iterator[None]:
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NoDriverError(f"no NVIDIA driver answers: {error}") from None
    try:
        yield
    except nvml.NVMLError as error:
        raise NoDriverError(f"the NVIDIA driver failed to say what GPUs there are: {error}") from error
    finally:
        nvml.nvmlShutdown()


def _gpu(nvml: Any, index: int) -> Gpu:
    """What is known of a GPU; one that does not answer keeps its place in the order."""
    try:
        return _facts(nvml, nvml.nvmlDeviceGetHandleByIndex(index))
    except nvml.NVMLError as error:
        return Gpu(uuid="", name=f"GPU {index}", compute_capability=(0, 0), memory_bytes=0, error=str(error))


def _facts(nvml: Any, handle: Any) -> Gpu:
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    divided = _is_divided(nvml, handle)
    return Gpu(
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        name=_text(nvml.nvmlDeviceGetName(handle)),
        compute_capability=(major, minor),
        memory_bytes=_memory(nvml, handle),
        multiprocessors=_multiprocessors(nvml, handle, (major, minor)),
        parts=tuple(_parts(nvml, handle, (major, minor))) if divided else (),
        divided=divided,
    )


def _parts(nvml: Any, handle: Any, compute_capability: tuple[int, int]) -> Iterator[Gpu]:
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except nvml.NVMLError_NotFound:
            continue
        yield Gpu(
            uuid=_text(nvml.nvmlDeviceGetUUID(part)),
            name=_text(nvml.nvmlDeviceGetName(part)),
            compute_capability=compute_capability,
            memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(part).total),
            multiprocessors=int(nvml.nvmlDeviceGetAttributes(part).multiprocessorCount),
        )


def _is_divided(nvml: Any, handle: Any) -> bool:
    try:
        current, _ = nvml.nvmlDeviceGetMigMode(handle)
    except nvml.NVMLError:  # it cannot be divided, or this user may not ask
        return False
    return bool(current == nvml.NVML_DEVICE_MIG_ENABLE)


def _memory(nvml: Any, handle: Any) -> int:
    """Bytes; what the host has left, which a GPU shares that has none of its own."""
    try:
        return int(nvml.nvmlDeviceGetMemoryInfo(handle).total)
    except nvml.NVMLError_NotSupported:
        return available_memory().bytes


def _multiprocessors(nvml: Any, handle: Any, compute_capability: tuple[int, int]) -> int:
    try:
        cores = int(nvml.nvmlDeviceGetNumGpuCores(handle))
    except nvml.NVMLError:
        return 1
    return max(1, cores // (64 if compute_capability in WIDE else 128))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def names(gpus: Sequence[Gpu]) -> str:
    """For people: each kind once, with its number."""
    kinds = list(dict.fromkeys(gpu.name for gpu in gpus))
    counts = [sum(gpu.name == kind for gpu in gpus) for kind in kinds]
    return ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in zip(kinds, counts, strict=True))
