"""The suites of the test kit, on this package."""

from __future__ import annotations

import pytest

from kernelet.testing.package import PackageSuite

__all__ = ["TestPackage"]


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-router-prefix"
