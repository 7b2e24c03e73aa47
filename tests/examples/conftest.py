"""The packages of examples/, each as its wheel, in environments that hold only what a test names."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from environments import Environment
from template_plugins import QUICK

ROOT = Path(__file__).parent.parent.parent
CORE = ("packages/core", "packages/platform-cpu", "packages/models-decoder")
ACME = ("acme-model", "acme-weights-encrypted", "acme-watermark", "acme-recorder", "acme-ranker")
"""Examples that need no compiler and select nothing by being there."""
BY_NAME = ("acme-platform", "acme-steering", "acme-beam-search")
"""Examples that change nothing unless they are named; one needs a compiler."""


@pytest.fixture(scope="session")
def copy_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A copy of an example's folder, outside of this repository and without what an earlier build left."""
    house = tmp_path_factory.mktemp("examples")
    left = shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__", ".*_cache")
    return cache(lambda name: Path(shutil.copytree(ROOT / "examples" / name, house / name, ignore=left)))


@pytest.fixture(scope="session")
def environment_of(
    wheel_of: Callable[[Path], Path], copy_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Environment]:
    """``environment_of("examples/acme-model", ...)``: core, the CPU, the decoders and those; made once a session."""

    @cache
    def make(*examples: str) -> Environment:
        projects = [*(ROOT / project for project in CORE), *(copy_of(Path(example).name) for example in examples)]
        return Environment(tmp_path_factory.mktemp("environment") / "venv", *map(wheel_of, projects))

    return make


@pytest.fixture(scope="session")
def acme(environment_of: Callable[..., Environment]) -> Environment:
    """The packages of ``ACME`` together."""
    return environment_of(*(f"examples/{name}" for name in ACME))


@pytest.fixture(scope="session")
def acme_by_name(environment_of: Callable[..., Environment]) -> Environment:
    """The packages of ``BY_NAME`` together."""
    return environment_of(*BY_NAME)


@pytest.fixture(scope="session")
def own_tests(copy_of: Callable[[str], Path]) -> Callable[..., str]:
    """``own_tests(environment, "acme-model", ...)``: runs these examples' own tests and suites, warnings are errors."""

    def run(environment: Environment, *examples: str) -> str:
        folders = [copy_of(name) / "tests" for name in examples]
        house = folders[0].parent.parent
        (house / "conftest.py").write_text(QUICK, encoding="utf-8")
        options = ("-q", "-W", "error", "--import-mode=importlib", "-p", "no:cacheprovider", f"--rootdir={house}")
        return environment.run("-m", "pytest", *options, *map(str, folders), OMP_NUM_THREADS="1")

    return run
