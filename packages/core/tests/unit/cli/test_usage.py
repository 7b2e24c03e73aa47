from __future__ import annotations

from kernelet.cli.usage import UsageError
from kernelet.errors import KerneletError


def test_wrong_usage_is_an_error_like_others():
    assert issubclass(UsageError, KerneletError)
