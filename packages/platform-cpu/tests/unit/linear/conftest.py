from __future__ import annotations

import pytest

from kernelet_platform_cpu.native import native


@pytest.fixture(params=["portable", "avx2", "avx512", "avx512bf16"])
def isa(request, monkeypatch):
    """Each instruction set of this processor in turn, whichever is chosen by itself."""
    module = native()
    if module is None:
        pytest.skip("platform-cpu has no kernels of its own here")
    if request.param not in module.available_isas():
        pytest.skip(f"this processor has no {request.param}")
    before = module.chosen_isa()
    module.choose_isa(request.param)
    yield request.param
    module.choose_isa(before)
