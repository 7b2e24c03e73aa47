from __future__ import annotations

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import WeightKernelOffer
from kernelet.contracts.platform import Capabilities, PlatformConfig, PlatformOffer
from kernelet_device_torch.recorded_platform import RecordedFacts, RecordedPlatform, probe


class Own(PlatformConfig):
    def capabilities(self):
        features = frozenset({"acme", "graphs", "triton", "flex"})
        return Capabilities(device_type="acme", dtypes=("float32",), memory_bytes=9, features=features)

    def attention_order(self):
        return ("fast",)


class Config(RecordedFacts, Own):
    pass


class Plugin:
    @staticmethod
    def kernelet_platforms():
        return (PlatformOffer(name="acme", target="a:b", probe="a:c", config="a:d", worker="a:w", communicator="a:e"),)

    @staticmethod
    def kernelet_weight_kernels():
        return (WeightKernelOffer(name="acme-dense", target="a:f", priority=3),)


def test_facts_are_those_of_the_platform_on_the_host():
    config = Config(Settings(plugin="x"))
    found = config.capabilities()
    assert (found.device_type, found.memory_bytes) == ("cpu", 9)
    assert found.features == {"acme", "graphs", "recorded"}
    assert config.attention_order() == ("recorded", "fast")


def test_the_platform_is_as_it_is_but_for_its_device():
    made = RecordedPlatform(Plugin, "acme_platform")
    (platform,) = made.kernelet_platforms()
    assert (platform.name, platform.worker, platform.communicator) == ("recorded", "a:w", "a:e")
    assert platform.target == "acme_platform.recorded_device:RecordedDevice"
    assert platform.config == "acme_platform.recorded:RecordedConfig"
    (kernel,) = made.kernelet_weight_kernels()
    assert (kernel.name, kernel.target, kernel.priority) == ("recorded", "a:f", 3)
    (attention,) = made.kernelet_attention_backends()
    assert attention.required_features == {"recorded"}


def test_it_is_only_taken_when_named():
    assert probe().available
    assert probe().priority < 0
