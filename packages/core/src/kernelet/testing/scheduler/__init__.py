"""Scheduling policies: the suite."""

from __future__ import annotations

from kernelet.testing.scheduler.suite import SchedulerCapabilities, SchedulerSuite

__all__ = ["SchedulerCapabilities", "SchedulerSuite"]
