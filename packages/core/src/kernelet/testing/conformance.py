"""The core's own offers, in the suites that plugins of others pass: ``kernelet plugins doctor core --conformance``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from safetensors.torch import save_file

from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.model import WeightFormatOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.kernel.compat import CORE
from kernelet.kernel.loader import BUILTIN
from kernelet.testing.cache_policy import CachePolicyCapabilities, CachePolicySuite
from kernelet.testing.null import NullPlugin, write_model
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.platform import PlatformCapabilities, PlatformSuite
from kernelet.testing.scheduler import SchedulerCapabilities, SchedulerSuite
from kernelet.testing.stat_logger import StatLoggerSuite
from kernelet.testing.weight_format import WeightFormatCapabilities, WeightFormatSuite

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["TestFCFS", "TestLRU", "TestLogging", "TestNullPlatform", "TestPackage", "TestPriority", "TestSafetensors"]


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return CORE


class TestFCFS(SchedulerSuite):
    capabilities = SchedulerCapabilities(patience=0)

    @pytest.fixture
    def offered(self) -> Offered[SchedulerOffer]:
        return find_offer(BUILTIN, SchedulerOffer, "fcfs")


class TestPriority(SchedulerSuite):
    capabilities = SchedulerCapabilities(respects_priority=True)

    @pytest.fixture
    def offered(self) -> Offered[SchedulerOffer]:
        return find_offer(BUILTIN, SchedulerOffer, "priority")


class TestLRU(CachePolicySuite):
    capabilities = CachePolicyCapabilities(least_recent_first=True)

    @pytest.fixture
    def offered(self) -> Offered[CachePolicyOffer]:
        return find_offer(BUILTIN, CachePolicyOffer, "lru")


class TestLogging(StatLoggerSuite):
    @pytest.fixture
    def offered(self) -> Offered[StatLoggerOffer]:
        return find_offer(BUILTIN, StatLoggerOffer, "logging")


class TestSafetensors(WeightFormatSuite):
    capabilities = WeightFormatCapabilities(
        dtypes=(
            *("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
            *("int64", "int32", "int16", "int8", "uint8", "bool"),
        )
    )

    @pytest.fixture
    def offered(self) -> Offered[WeightFormatOffer]:
        return find_offer(BUILTIN, WeightFormatOffer, "safetensors")

    @pytest.fixture
    def write(self) -> Callable[[Path, Mapping[str, Tensor]], None]:
        return lambda folder, tensors: save_file(dict(tensors), folder / "model.safetensors")


class TestNullPlatform(PlatformSuite):
    capabilities = PlatformCapabilities(torch=False)

    @pytest.fixture
    def offered(self) -> Offered[PlatformOffer]:
        return find_offer(NullPlugin(), PlatformOffer)

    @pytest.fixture
    def plugins(self) -> Sequence[object]:
        return (NullPlugin(),)

    @pytest.fixture
    def checkpoint(self, tmp_path: Path) -> Path:
        return write_model(tmp_path / "null")
