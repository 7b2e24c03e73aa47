"""The conformance kit, for authors of plugins; installed by ``kernelet-core[testing]``. Nothing in core imports it."""

from __future__ import annotations
