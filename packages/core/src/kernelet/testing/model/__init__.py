"""Models: the suite, and a run over a paged cache; the reference is ``kernelet.testing.tiny``."""

from __future__ import annotations

from kernelet.testing.model.paged import PagedRun, all_logits
from kernelet.testing.model.suite import ModelCapabilities, ModelSuite

__all__ = ["ModelCapabilities", "ModelSuite", "PagedRun", "all_logits"]
