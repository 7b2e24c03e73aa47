"""Endpoints: the suite, and one that keeps the contract."""

from __future__ import annotations

from kernelet.testing.endpoint.asgi import Call
from kernelet.testing.endpoint.suite import EndpointCapabilities, EndpointSuite

__all__ = ["Call", "EndpointCapabilities", "EndpointSuite"]
