"""A platform on a machine that has none of its devices, for tests: as it is, but for the device. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.op import WeightKernelOffer
from kernelet.contracts.platform import Capabilities, PlatformConfig, PlatformOffer, Probe
from kernelet.hookspecs import hookimpl

NAME = "recorded"
MEMORY = 1 << 30
"""Bytes of the device."""

COMPILED = frozenset({"triton", "flex"})
"""Features whose kernels need the device itself."""


def probe() -> Probe:
    """A device that is made of nothing; only taken when named."""
    return Probe(available=True, reason="its calls are recorded", priority=-200)


class RecordedFacts(PlatformConfig):
    """Mixin before a ``PlatformConfig``: tensors lie on the host, and nothing is compiled for the device."""

    def capabilities(self) -> Capabilities:
        found = super().capabilities()  # type: ignore[safe-super]
        return replace(found, device_type="cpu", features=found.features - COMPILED | {NAME})

    def attention_order(self) -> tuple[str, ...]:
        return (NAME, *super().attention_order())


class RecordedPlatform:
    """A plugin that offers the platform of another under the name ``recorded``, with a slow and obvious attention.

    Args:
        own: The other plugin's module.
        package: Whose modules ``recorded`` and ``recorded_device`` have the classes ``RecordedConfig`` and
            ``RecordedDevice``.
    """

    def __init__(self, own: Any, package: str) -> None:
        self.name = f"{package}.{NAME}"
        self._own = own
        self._package = package

    @hookimpl
    def kernelet_platforms(self) -> Sequence[PlatformOffer]:
        """The platform, but for its device."""
        (offer,) = self._own.kernelet_platforms()
        return (
            replace(
                offer,
                name=NAME,
                target=f"{self._package}.recorded_device:RecordedDevice",
                probe=f"{__name__}:probe",
                config=f"{self._package}.recorded:RecordedConfig",
            ),
        )

    @hookimpl
    def kernelet_attention_backends(self) -> Sequence[AttentionOffer]:
        """The reference of the test kit."""
        return (
            AttentionOffer(
                name=NAME,
                target="kernelet.testing.attention.reference:SlowAttention",
                kinds=frozenset({"full", "sliding"}),
                soft_cap=True,
                sinks=True,
                required_features=frozenset({NAME}),
            ),
        )

    @hookimpl
    def kernelet_weight_kernels(self) -> Sequence[WeightKernelOffer]:
        """Its own, which are no friends of a platform of another package."""
        return tuple(replace(offer, name=NAME) for offer in self._own.kernelet_weight_kernels())
