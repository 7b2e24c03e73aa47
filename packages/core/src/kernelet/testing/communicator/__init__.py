"""Communicators: the suite and a slow obvious one over plain connections."""

from __future__ import annotations

from kernelet.testing.communicator.suite import CommunicatorCapabilities, CommunicatorSuite

__all__ = ["CommunicatorCapabilities", "CommunicatorSuite"]
