"""The package's suites with kernels that use no instruction beyond the architecture's first, forced as a user would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernelet_platform_cpu.native import native

ONCE = (
    "(NativePaged and (every_feature or cuts)) or (NativeDense and (any_number_of_rows or rows_do_not_depend)) or "
    "(NativeQuantized and (is_the_dequantized or rows_do_not_depend)) or "
    "((NativeMoE or NativeOps) and is_its_decomposition)"
)
"""Every kernel."""
SUITES = (
    "(NativePaged or NativeDense or NativeQuantized or NativeMoE or NativeOps) and not (many_rows or qkv or sample)"
)


@pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")
@pytest.mark.parametrize(
    "chosen, least", [(ONCE, 15), pytest.param(SUITES, 100, marks=pytest.mark.long)], ids=["once", "all"]
)
def test_the_suites_pass_with_portable_kernels(chosen, least):
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-k", chosen]
    done = subprocess.run(
        [*command, str(Path(__file__).with_name("test_conformance.py"))],
        env=os.environ | {"KERNELET_CPU_ISA": "portable"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > least, done.stdout
    assert "no kernels of its own" not in done.stdout
