"""What a router is told, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError

ENGINE, PREFILL, DECODE = "engine", "prefill", "decode"

ZERO = frozenset({"max_imbalance", "shutdown_timeout"})
"""Numbers that may be 0."""


@dataclass(frozen=True, kw_only=True)
class RouterSettings:
    """Engines by role, and limits.

    Attributes:
        engines: Addresses by role: either ``ENGINE``, or ``PREFILL`` and ``DECODE``.
        api_key: Of the engines; empty: they want none.
        max_imbalance: Open requests that a preferred engine may have more than the one that has least.
    """

    engines: dict[str, tuple[str, ...]]
    api_key: str = ""
    health_interval: float = 2.0
    health_timeout: float = 5.0
    connect_timeout: float = 5.0
    read_timeout: float = 600.0
    shutdown_timeout: float = 20.0
    max_imbalance: int = 8
    max_request_bytes: int = 16 * 1024 * 1024

    @property
    def pairs(self) -> bool:
        """Whether prompts and texts are computed by different engines."""
        return DECODE in self.engines


def read_settings(
    settings: Settings, engines: Sequence[str], prefill: Sequence[str], decode: Sequence[str]
) -> RouterSettings:
    """All of it.

    Raises:
        ConfigError: saying what to do.
    """
    if bool(engines) == bool(prefill or decode) or bool(prefill) != bool(decode):
        raise ConfigError("give --engine URL..., or both --prefill URL... and --decode URL...")
    given = {ENGINE: engines} if engines else {PREFILL: prefill, DECODE: decode}
    values = {key: settings[key] for key in settings.values}
    for key, value in values.items():
        if isinstance(value, int | float) and not (
            math.isfinite(value) and (value > 0 or (value == 0 and key in ZERO))
        ):
            raise ConfigError(f"--set router-prefix.{key}: got {value}, expected a number above 0")
    found = {role: tuple(dict.fromkeys(map(read_url, urls))) for role, urls in given.items()}
    return RouterSettings(engines=found, **values)  # type: ignore[arg-type]


def read_url(text: str) -> str:
    """An engine's address, without a slash at its end.

    Raises:
        ConfigError: it is none.
    """
    parts = urlsplit(text)
    try:
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # the port
        fits = False
    if not fits or parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigError(f"{text!r} is no engine's address: expected the form http://HOST:PORT")
    return text.rstrip("/")
