"""The suites of the test kit; on a machine without a GPU, on a device that remembers its calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kernelet.contracts.platform import Device, PlatformOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.platform import PlatformCapabilities, PlatformSuite
from kernelet_platform_rocm import plugin, recorded
from kernelet_platform_rocm.probe import probe

HAS_GPU = probe().available


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-platform-rocm"


class TestPlatform(PlatformSuite):
    capabilities = PlatformCapabilities(dtype="" if HAS_GPU else "float64")

    @pytest.fixture
    def offered(self) -> Offered[PlatformOffer]:
        return find_offer(plugin if HAS_GPU else recorded.plugin, PlatformOffer)

    @pytest.fixture
    def plugins(self) -> Sequence[object]:
        return () if HAS_GPU else (recorded.plugin,)

    @pytest.mark.xfail(not HAS_GPU, reason="what is recorded takes no memory of a device")
    def test_the_peak_is_what_was_taken_at_once(self, torch: Any, running: Device) -> None:
        super().test_the_peak_is_what_was_taken_at_once(torch, running)
