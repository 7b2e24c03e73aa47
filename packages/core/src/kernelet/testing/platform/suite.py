"""The suite of platforms: both halves, and an engine that runs on them."""

from __future__ import annotations

from kernelet.testing.platform.base import PlatformCapabilities
from kernelet.testing.platform.config_tests import ConfigTests
from kernelet.testing.platform.device_tests import DeviceTests
from kernelet.testing.platform.worker_tests import WorkerTests

__all__ = ["PlatformCapabilities", "PlatformSuite"]


class PlatformSuite(ConfigTests, DeviceTests, WorkerTests):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", PlatformOffer)``.

    The engine loads what is installed, so the package must be; ``plugins`` adds what is not. The model is the kit's
    tiny one; a platform that runs no torch overrides ``checkpoint``.
    """
