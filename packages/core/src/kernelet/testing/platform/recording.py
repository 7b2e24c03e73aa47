"""A device that remembers what was asked of it, on the host: for tests on machines that do not have the device."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import PackedWeights
from kernelet.contracts.platform import Device, MemoryInfo

MEMORY = 1 << 30


@dataclass(frozen=True)
class Call:
    """A call.

    Attributes:
        name: Of the method or function; ``"Stream.wait_event"`` for a method of an object that a call returned.
        arguments: By parameter name, defaults left out.
    """

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


class RecordingDevice(Device):
    """Tensors lie on the host; every call is remembered in order, and refused where a real device would fail.

    As the target of an offer it is made as any device is. Where a worker makes it, ``recording(calls)`` gives a class
    whose calls are at hand.

    Attributes:
        calls: What was asked, oldest first. Properties are not.
        memory_bytes: Total memory; what is free is half of it.
    """

    memory_bytes = MEMORY

    def __init__(self, settings: Settings, local_rank: int) -> None:
        self.calls: list[Call] = []
        self._state = "made"
        self._note("__init__", settings=settings, local_rank=local_rank)

    def init(self) -> None:
        if self._state != "made":
            raise RuntimeError(f"init() is called once, but the device was {self._state} before")
        self._note("init")
        self._state = "taken"

    def get_device_name(self) -> str:
        self._note("get_device_name")
        return "recording"

    @property
    def tensor_device(self) -> Any:
        return importlib.import_module("torch").device("cpu")

    def memory(self) -> MemoryInfo:
        self._taken("memory")
        return MemoryInfo(total=self.memory_bytes, free=self.memory_bytes // 2)

    def manual_seed(self, seed: int) -> None:
        self._taken("manual_seed", seed=seed)
        importlib.import_module("torch").manual_seed(seed)

    def synchronize(self) -> None:
        self._taken("synchronize")

    def empty_pinned(self, shape: Sequence[int], dtype: Any) -> Any:
        self._taken("empty_pinned", shape=tuple(shape), dtype=dtype)
        return super().empty_pinned(shape, dtype)

    def copy_async(self, source: Any, destination: Any) -> None:
        self._taken("copy_async", source=source, destination=destination)
        super().copy_async(source, destination)

    def capture(self, fn: Callable[[], None]) -> Callable[[], None] | None:
        """The replay calls the function again; it is a call ``"replay"`` of its own."""
        self._taken("capture", fn=fn)
        fn()

        def replay() -> None:
            self._taken("replay")
            fn()

        return replay

    def packed_weights(self) -> PackedWeights | None:
        """Keeps nothing."""
        self._taken("packed_weights")
        return None

    def close(self) -> None:
        self._note("close")
        self._state = "closed"

    def _taken(self, name: str, **arguments: Any) -> None:
        if self._state != "taken":
            raise RuntimeError(f"{name}() needs the device between init() and close(), but it is {self._state}")
        self._note(name, **arguments)

    def _note(self, name: str, **arguments: Any) -> None:
        self.calls.append(Call(name, arguments))


def recording(calls: list[Call], memory_bytes: int = MEMORY) -> type[RecordingDevice]:
    """A ``RecordingDevice`` class for one test.

    Args:
        calls: Where calls are added, whoever makes the device.
        memory_bytes: Total memory.
    """

    class Recorded(RecordingDevice):
        def _note(self, name: str, **arguments: Any) -> None:
            super()._note(name, **arguments)
            calls.append(Call(name, arguments))

    Recorded.memory_bytes = memory_bytes
    return Recorded
