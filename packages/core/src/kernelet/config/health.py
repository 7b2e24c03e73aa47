"""When an engine counts as stalled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class HealthConfig:
    """What ``EngineControl.health`` goes by.

    Attributes:
        silence_timeout: Seconds without a sign of life from the engine's process.
        step_timeout: Seconds that one step, or one call, may take.
    """

    silence_timeout: float = 15.0
    step_timeout: float = 300.0
