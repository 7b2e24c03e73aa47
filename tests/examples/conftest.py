"""The packages of examples/, each as its wheel, in environments that hold only what a test names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from environments import Environment

ROOT = Path(__file__).parent.parent.parent
CORE = ("packages/core", "packages/platform-cpu", "packages/models-decoder")


@pytest.fixture(scope="session")
def environment_of(
    wheel_of: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Environment]:
    """``environment_of("examples/acme-model", ...)``: core, the CPU, the decoders and those; made once a session."""

    @cache
    def make(*projects: str) -> Environment:
        wheels = [wheel_of(ROOT / project) for project in (*CORE, *projects)]
        return Environment(tmp_path_factory.mktemp("environment") / "venv", *wheels)

    return make


@pytest.fixture(scope="session")
def acme(environment_of: Callable[..., Environment]) -> Environment:
    """The four packages that need no compiler and select nothing by being there."""
    return environment_of(
        "examples/acme-model",
        "examples/acme-weights-encrypted",
        "examples/acme-watermark",
        "examples/acme-recorder",
    )
