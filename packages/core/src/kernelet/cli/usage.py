"""The error of a command line that cannot be meant."""

from __future__ import annotations

from kernelet.errors import KerneletError


class UsageError(KerneletError):
    """Wrong usage: exit code 2."""
