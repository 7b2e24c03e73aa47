"""Engines with several ranks on random models whose sizes they can share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from rank_models import NARROW, OPTIONS

from kernelet import LLM

Engine = Callable[..., LLM]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Starts engines, which end with the module."""
    with ExitStack() as stack:

        def start(folder: Path, size: int, **options: Any) -> LLM:
            return stack.enter_context(LLM(str(folder), tensor_parallel_size=size, **OPTIONS | options))

        yield start


@pytest.fixture(scope="session")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.full(tmp_path_factory.mktemp("narrow"), **NARROW)
