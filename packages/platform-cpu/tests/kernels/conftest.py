"""Kernels called with buffers of numpy, of exactly the bytes that they may touch; torch is not imported.

``python tools/sanitize.py`` runs these tests with a build that has AddressSanitizer and UndefinedBehaviorSanitizer.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--native", type=Path, default=None, help="a build of the extension; default: the installed one")


@pytest.fixture(scope="session")
def module(request):
    path = request.config.getoption("--native", default=None)
    if path is None:
        return pytest.importorskip("kernelet_platform_cpu._native", exc_type=ImportError)
    specification = importlib.util.spec_from_file_location("_native", path)
    made = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(made)
    return made


@pytest.fixture(params=["portable", "avx2", "avx512", "avx512bf16"])
def native(request, module):
    """The extension with each of its instruction sets in turn, on two threads."""
    if request.param not in module.available_isas():
        pytest.skip(f"this build or processor has no {request.param}")
    isa, threads = module.chosen_isa(), module.pool_threads()
    module.choose_isa(request.param)
    module.start_pool(2, [])
    yield module
    module.start_pool(threads, [])
    module.choose_isa(isa)
