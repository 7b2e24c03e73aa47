"""The suites of the kit on what the package offers: ``kernelet plugins doctor --conformance``."""

from __future__ import annotations

import pytest

from kernelet.testing.package import PackageSuite


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "acme-steering"
