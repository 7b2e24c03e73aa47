"""Platforms: the suite, a reference on the host, a recording device; ``kernelet.testing.null`` needs no torch."""

from __future__ import annotations

from kernelet.testing.platform.recording import Call, RecordingDevice, recording
from kernelet.testing.platform.recording_module import RecordingModule
from kernelet.testing.platform.suite import PlatformCapabilities, PlatformSuite

__all__ = ["Call", "PlatformCapabilities", "PlatformSuite", "RecordingDevice", "RecordingModule", "recording"]
