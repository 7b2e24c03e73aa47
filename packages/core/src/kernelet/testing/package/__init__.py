"""Packages: the suite of what pip installs."""

from __future__ import annotations

from kernelet.testing.package.suite import PackageCapabilities, PackageSuite

__all__ = ["PackageCapabilities", "PackageSuite"]
