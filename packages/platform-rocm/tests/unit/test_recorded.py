from __future__ import annotations

from kernelet.contracts.offer import Settings
from kernelet_platform_rocm.recorded import GPU, RecordedConfig, plugin


def test_its_gpu_is_the_one_that_is_made_up():
    config = RecordedConfig(Settings(plugin="x"))
    assert config.gpus() == (GPU,)
    assert config.capabilities().features >= {"gfx942", "wave64", "fp8_fnuz"}
    assert plugin.kernelet_platforms()[0].config == "kernelet_platform_rocm.recorded:RecordedConfig"
