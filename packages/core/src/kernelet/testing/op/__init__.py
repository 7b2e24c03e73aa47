"""Ops: the suite, with every way in which an engine calls one."""

from __future__ import annotations

from kernelet.testing.op.composite_cases import HIDDEN
from kernelet.testing.op.suite import OpCapabilities, OpSuite

__all__ = ["HIDDEN", "OpCapabilities", "OpSuite"]
