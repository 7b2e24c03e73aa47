"""The CPU's kernels under AddressSanitizer and UndefinedBehaviorSanitizer, by tools/sanitize.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sanitize

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not all(Path(path).is_absolute() for path in sanitize.preloaded()), reason="this compiler has no sanitizers"
    ),
]

OVERRUN = """
import importlib.util, sys
import numpy
specification = importlib.util.spec_from_file_location("_native", sys.argv[1])
native = importlib.util.module_from_spec(specification)
specification.loader.exec_module(native)
x, out = numpy.ones(4, numpy.float32), numpy.ones(4, numpy.float32)
native.add(x.ctypes.data, x.ctypes.data, out.ctypes.data, int(sys.argv[2]), 1.0, 0, False)
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """With the best instruction set alone: the portable one is for `hatch run sanitize`."""
    return sanitize.build(tmp_path_factory.mktemp("sanitized"), "avx2")


def test_kernels_touch_no_byte_that_is_not_theirs(module):
    assert sanitize.run(module, []) == 0


def test_an_overrun_is_found(module):
    environment = os.environ | sanitize.ENVIRONMENT | {"LD_PRELOAD": " ".join(sanitize.preloaded())}
    for elements, found in (("4", False), ("5", True)):
        command = [sys.executable, "-c", OVERRUN, str(module), elements]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode != 0) == found, done.stderr
        assert ("heap-buffer-overflow" in done.stderr) == found
