from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, Device, MemoryInfo, PlatformConfig, Probe


class Config(PlatformConfig):
    def capabilities(self):
        return Capabilities(device_type="x", dtypes=("float32",), memory_bytes=1)


class OneDevice(Device):
    """The least that a device must have."""

    def __init__(self, settings, local_rank):
        self.settings, self.local_rank = settings, local_rank

    def init(self): ...

    def get_device_name(self):
        return "x"

    @property
    def tensor_device(self):
        return "x"

    def memory(self):
        return MemoryInfo(total=2, free=1)

    def manual_seed(self, seed): ...

    def synchronize(self): ...


def test_what_a_platform_must_have():
    assert PlatformConfig.__abstractmethods__ == {"capabilities"}
    assert Device.__abstractmethods__ == {
        "__init__",
        "init",
        "get_device_name",
        "tensor_device",
        "memory",
        "manual_seed",
        "synchronize",
    }
    with pytest.raises(TypeError, match="abstract"):
        PlatformConfig(Settings(plugin="p"))


def test_defaults_of_the_configuration_half():
    config = Config(Settings(plugin="p"))
    assert config.settings.plugin == "p"
    assert config.check_and_update_config(None) == ()
    assert config.attention_order() == ()
    assert config.validate_request(10, None) is None


def test_defaults_of_a_device():
    device = OneDevice(Settings(plugin="p"), 0)
    assert device.capture(lambda: None) is None, "without graphs, there is nothing to replay"
    assert device.close() is None


def test_copies_go_from_source_to_destination():
    class Tensor:
        def __init__(self, value):
            self.value = value

        def copy_(self, other):
            self.value = other.value

    source, destination = Tensor(1), Tensor(2)
    OneDevice(Settings(plugin="p"), 0).copy_async(source, destination)
    assert (source.value, destination.value) == (1, 1)


def test_capabilities_are_conservative():
    capabilities = Capabilities(device_type="x", dtypes=("float32",), memory_bytes=1)
    assert capabilities.features == frozenset()
    assert capabilities.compute_capability is None
    assert capabilities.num_compute_units == 1


def test_a_probe_has_the_priority_of_what_is_always_there():
    assert Probe(available=True, reason="").priority == 0
