"""What the three parts of the suite of platforms share: capabilities and fixtures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kernelet.contracts.platform import Device, PlatformConfig, PlatformOffer
from kernelet.engine.bootstrap import Configured, configure_engine
from kernelet.engine.option_sources import resolve_options
from kernelet.kernel.imports import import_string
from kernelet.testing.offered import Offered
from kernelet.testing.suite import Suite
from kernelet.testing.tiny import plugin as tiny_plugin
from kernelet.testing.tiny import write_checkpoint
from kernelet.testing.verdict import check

Configure = Callable[..., Configured]


@dataclass(frozen=True, kw_only=True)
class PlatformCapabilities:
    """What a platform promises beyond the contract.

    Attributes:
        torch: Its tensors are torch's.
        dtype: In which the same request gives the same tokens, however it is batched; empty: in none.
        probe_seconds: What a probe may take, the import of its module included.
        options: Options of the engine that runs on it, as ``LLM`` takes them: ``{"set": {"platform-acme": {...}}}``.
    """

    torch: bool = True
    dtype: str = "float64"
    probe_seconds: float = 2.0
    options: Mapping[str, Any] = field(default_factory=dict)


class PlatformBase(Suite):
    """Fixtures of the suite of platforms."""

    capabilities: ClassVar[PlatformCapabilities] = PlatformCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[PlatformOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', PlatformOffer)")

    @pytest.fixture
    def plugins(self) -> Sequence[object]:
        """What an engine is started with beside the installed plugins: objects, or import strings."""
        return ()

    @pytest.fixture
    def checkpoint(self, tmp_path: Path) -> Path:
        """A tiny model that the platform runs; the kit's own unless overridden."""
        return write_checkpoint(tmp_path / "tiny")

    @pytest.fixture
    def config_half(self, offered: Offered[PlatformOffer]) -> PlatformConfig:
        """The half that imports no torch."""
        half = import_string(offered.offer.config)(offered.settings)
        check(isinstance(half, PlatformConfig), f"{offered.offer.config} is no PlatformConfig")
        assert isinstance(half, PlatformConfig)
        return half

    @pytest.fixture
    def running(self, offered: Offered[PlatformOffer]) -> Iterator[Device]:
        """The device of rank 0, taken."""
        torch = sys.modules.get("torch")
        threads = torch.get_num_threads() if torch is not None else 0
        device = make_device(offered)
        device.init()
        yield device
        device.close()
        if torch is not None:
            torch.set_num_threads(threads)

    @pytest.fixture
    def configure(self, offered: Offered[PlatformOffer], plugins: Sequence[object], checkpoint: Path) -> Configure:
        """Decides on an engine of this platform for the checkpoint, as a user's options would."""

        def configure(**options: Any) -> Configured:
            wanted = self.capabilities
            chosen = {"platform": offered.offer.name, "dtype": wanted.dtype or "auto", **wanted.options, **options}
            return configure_engine(str(checkpoint), resolve_options(chosen), (*plugins, tiny_plugin))

        return configure


def make_device(offered: Offered[PlatformOffer], rank: int = 0) -> Device:
    """A device, not taken."""
    device = offered.target(offered.settings, rank)
    check(isinstance(device, Device), f"{offered.offer.target} is no Device")
    assert isinstance(device, Device)
    return device
