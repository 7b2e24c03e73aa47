"""The microkernel: discovers, checks, loads and selects plugins. Used at process start only.

``Kernel.boot(config)`` loads plugins and seals the registries; ``Kernel.from_manifest(manifest, config)`` does the
same in a child process and proves that it has the parent's plugins.
"""

from __future__ import annotations

from kernelet.kernel.manager import Kernel
from kernelet.kernel.manifest import Manifest
from kernelet.kernel.report import PluginReport, State

__all__ = ["Kernel", "Manifest", "PluginReport", "State"]
