"""The half of a platform that lives in workers: the device."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kernelet.contracts.op import PackedWeights
from kernelet.contracts.platform import (
    Device,
    MeasuresMemory,
    MemoryInfo,
    MovesWeights,
    PlatformConfig,
    PlatformOffer,
    RecordsEvents,
)
from kernelet.testing.interpreter import call_fresh
from kernelet.testing.offered import Offered
from kernelet.testing.platform.base import PlatformBase, make_device
from kernelet.testing.verdict import check

COUNT = 1 << 16
UNITS = 4.0
"""Capabilities and device may see different memory, but not by the factor of a wrong unit."""


def _can_load(kept: PackedWeights | None, key: str) -> bool:
    if kept is None:
        return False
    try:
        kept.load(key)
        kept.close()
    except Exception:  # noqa: BLE001 - whatever a closed one raises
        return False
    return True


class DeviceTests(PlatformBase):
    """Tests of what a worker uses."""

    @pytest.fixture
    def torch(self) -> ModuleType:
        """torch, where the platform's tensors are torch's."""
        if not self.capabilities.torch:
            pytest.skip("the platform's tensors are not torch's")
        found: ModuleType = pytest.importorskip("torch")
        return found

    def test_making_a_device_touches_nothing(
        self, offered: Offered[PlatformOffer], config_half: PlatformConfig, tmp_path: Path
    ) -> None:
        folder = tmp_path / "empty"
        folder.mkdir()
        kind = config_half.capabilities().device_type
        values = dict(offered.settings.values)
        facts = call_fresh(
            "kernelet.testing.platform_facts:device_facts",
            *(offered.offer.target, offered.settings.plugin, values, kind, str(folder)),
        )
        changed = ", ".join(facts["changed"])
        check(not changed, f"making a Device must touch nothing before init(), but it changed {changed}")

    def test_name(self, running: Device) -> None:
        name = running.get_device_name()
        check(type(name) is str and name.strip(), "get_device_name() must name the device for people")

    def test_memory(self, running: Device, config_half: PlatformConfig) -> None:
        infos = [running.memory() for _ in range(3)]
        check(all(isinstance(info, MemoryInfo) for info in infos), "memory() must return a MemoryInfo")
        check(
            all(type(info.total) is int and type(info.free) is int for info in infos),
            "memory() must count whole bytes: `total` and `free` are int",
        )
        check(
            all(0 < info.free <= info.total for info in infos),
            "`free` of memory() must be above 0 on an idle device, and never above `total`",
        )
        sizes = [config_half.capabilities().memory_bytes, *(info.total for info in infos)]
        check(
            max(sizes) <= UNITS * min(sizes),
            "memory() and `memory_bytes` of the capabilities must both be bytes of the device: one has another unit",
        )

    def test_everything_done_is_done(self, running: Device) -> None:
        for _ in range(2):
            check(running.synchronize() is None, "synchronize() must wait and return nothing")

    def test_tensors_lie_on_the_device(self, torch: Any, running: Device, config_half: PlatformConfig) -> None:
        tensor = torch.zeros(3, device=running.tensor_device)
        check(
            tensor.device.type == config_half.capabilities().device_type,
            "`tensor_device` must be of the `device_type` that the capabilities state",
        )

    def test_the_default_dtype_stays(self, torch: Any, offered: Offered[PlatformOffer]) -> None:
        before = torch.get_default_dtype()
        device = make_device(offered)
        device.init()
        after = torch.get_default_dtype()
        torch.set_default_dtype(before)
        device.close()
        check(after is before, "init() must leave torch's default dtype alone: it belongs to the whole process")

    def test_every_dtype_computes(self, torch: Any, running: Device, config_half: PlatformConfig) -> None:
        for name in config_half.capabilities().dtypes:
            kind = getattr(torch, name)
            ones = torch.ones(8, 8, dtype=kind, device=running.tensor_device)
            product = ones @ ones
            running.synchronize()
            check(
                product.dtype is kind and bool((product == 8).all()),
                f"every dtype of the capabilities must compute, but {name} does not",
            )

    def test_the_seed_decides(self, torch: Any, running: Device) -> None:
        def draw(seed: int) -> Any:
            running.manual_seed(seed)
            return torch.rand(64, device=running.tensor_device).cpu()

        first = draw(7)
        draw(8)
        check(
            bool((draw(7) == first).all()), "manual_seed() must seed the device's generator: equal seeds, equal numbers"
        )
        check(bool((draw(9) != first).any()), "manual_seed() must take the seed: other seeds gave the same numbers")

    def test_copies_arrive(self, torch: Any, running: Device) -> None:
        source = running.empty_pinned((COUNT, 2), torch.float32)
        check(
            source.device.type == "cpu" and source.shape == (COUNT, 2) and source.dtype is torch.float32,
            "empty_pinned() must make a host tensor of the shape and dtype that were asked for",
        )
        source.copy_(torch.arange(2 * COUNT).reshape(COUNT, 2))
        there = torch.zeros(COUNT, 2, device=running.tensor_device)
        back = running.empty_pinned((COUNT, 2), torch.float32)
        running.copy_async(source, there)
        doubled = there * 2  # later work, without waiting
        running.copy_async(doubled, back)
        running.synchronize()
        check(bool((there.cpu() == source).all()), "copy_async() must copy the source into the destination")
        check(
            bool((back == 2 * source).all()),
            "copy_async() must be ordered with later work on the device, and done after synchronize()",
        )

    def test_packed_weights_are_those_of_their_key(
        self, torch: Any, offered: Offered[PlatformOffer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KERNELET_CACHE_DIR", str(tmp_path))
        weights = {"panels": torch.arange(1 << 18).to(torch.bfloat16).view(2, -1), "shape": torch.tensor([2, 3])}
        for _ in range(2):
            device = make_device(offered)
            device.init()
            kept = device.packed_weights()
            if kept is not None:
                check(kept.load("another") is None, "packed_weights() must find nothing under a key that is new")
                found = kept.load("one")
                same = found is None or (
                    found.keys() == weights.keys()
                    and all(found[name].dtype is weights[name].dtype for name in weights)
                    and all(torch.equal(found[name], weights[name]) for name in weights)
                )
                check(same, "packed_weights() must give back what was saved under that key, bit by bit")
                kept.save("one", weights)
                kept.close()
                again = device.packed_weights()
                check(_can_load(again, "one"), "packed_weights() must serve a second load of the model")
            device.close()

    def test_captured_work_is_computed_again(self, torch: Any, running: Device, config_half: PlatformConfig) -> None:
        given = torch.ones(16, device=running.tensor_device)
        result = torch.zeros(16, device=running.tensor_device)

        def work() -> None:
            result.copy_(given * 3)

        replay = running.capture(work)
        promised = "graphs" in config_half.capabilities().features
        check(
            (replay is not None) == promised,
            "capture() must return a replay if and only if the capabilities have the feature 'graphs'",
        )
        if replay is None:
            return
        for value in (2.0, 5.0):
            given.fill_(value)
            result.zero_()
            replay()
            running.synchronize()
            check(
                bool((result.cpu() == 3 * value).all()),
                "a replay must compute again, from what the captured tensors hold by then",
            )

    def test_the_peak_is_what_was_taken_at_once(self, torch: Any, running: Device) -> None:
        if not isinstance(running, MeasuresMemory):
            pytest.skip("the device measures no memory")
        before = torch.ones(COUNT, device=running.tensor_device)
        for count in (9, 3):
            running.reset_peak()
            for _ in range(4):
                taken = [torch.ones(COUNT, device=running.tensor_device) for _ in range(count)]
                running.synchronize()
                del taken
            peak = running.peak()
            check(
                count * before.nbytes <= peak <= 2 * (count + 1) * before.nbytes,
                "peak() must be what tensors took at once at most since reset_peak(), beyond what they took then",
            )

    def test_moved_weights_come_back(self, torch: Any, running: Device) -> None:
        if not isinstance(running, MovesWeights):
            pytest.skip("the device moves no weights")
        whole = torch.arange(4.0 * COUNT, device=running.tensor_device).view(4, COUNT)
        given = [whole, whole[1:3, ::2], whole.T, torch.nn.Parameter(whole.to(torch.bfloat16)), whole[:0]]
        given.append(torch.arange(7, device=running.tensor_device))
        expected = [tensor.detach().cpu().clone() for tensor in given]
        strides = [tensor.stride() for tensor in given]
        bring_back = running.offload(given)
        running.release()
        bring_back()
        running.synchronize()
        for tensor, wanted, stride in zip(given, expected, strides, strict=True):
            check(
                tensor.device.type == torch.device(running.tensor_device).type
                and tensor.stride() == stride
                and torch.equal(tensor.detach().cpu(), wanted),
                "offload() must return what brings tensors back: the same objects on the device, bit by bit",
            )
        whole[2, 4] = -1.0
        running.synchronize()
        check(
            float(given[1][1, 2]) == float(given[2][4, 2]) == -1.0,
            "tensors that looked at the same memory must do so again once they are back",
        )

    def test_what_was_recorded_is_waited_for(self, torch: Any, running: Device) -> None:
        if not isinstance(running, RecordsEvents):
            pytest.skip("the device records no events")
        source = running.empty_pinned((COUNT,), torch.float32)
        source.fill_(3.0)
        there = torch.zeros(COUNT, device=running.tensor_device)
        running.copy_async(source, there)
        running.record()()
        source.fill_(5.0)
        running.synchronize()
        check(bool((there == 3).all()), "record() must return what waits for all that was launched before")

    def test_a_device_can_be_taken_again(self, offered: Offered[PlatformOffer]) -> None:
        for _ in range(2):
            device = make_device(offered)
            device.init()
            check(device.memory().free > 0, "after close() the process must be able to take the device again")
            device.synchronize()
            device.close()
