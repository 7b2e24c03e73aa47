"""Keeps what a plugin's code raises from everybody else."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from kernelet.errors import DuplicatePluginError, KerneletError


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What a plugin raised.

    Attributes:
        error: The exception, with its traceback.
        trace: The traceback as text.
    """

    error: BaseException = field(repr=False)
    trace: str = field(default="", repr=False)

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        return cls(error=error, trace="".join(traceback.format_exception(error)))

    @property
    def reason(self) -> str:
        """One line: the exception's type, unless it is one of our own, and its message."""
        text = " ".join(str(self.error).split())
        if isinstance(self.error, KerneletError) and text:
            return text
        return f"{type(self.error).__name__}: {text}" if text else type(self.error).__name__

    @property
    def fix(self) -> str:
        """What a person can do about it."""
        if isinstance(self.error, ModuleNotFoundError) and self.error.name:
            return f"install the package that provides the module {self.error.name!r}"
        if isinstance(self.error, DuplicatePluginError):
            return "give its offer another name"
        return "fix or upgrade the plugin"


class Contained:
    """Context manager that swallows everything but KeyboardInterrupt, also SystemExit, and keeps it in ``failure``."""

    def __init__(self) -> None:
        self.failure: Failure | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None or isinstance(error, KeyboardInterrupt):
            return False
        self.failure = Failure.of(error)
        return True
