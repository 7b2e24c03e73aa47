from __future__ import annotations

import subprocess
import sys

from kernelet.testing.platform.base import PlatformCapabilities
from kernelet.testing.platform.faults import reference_suite

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import pytest
folder = sys.argv[1]
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-c", folder + "/pytest.ini", folder + "/test_null.py"]))
"""


class TestReference(reference_suite()):
    """The platform on the host passes."""

    capabilities = PlatformCapabilities(probe_seconds=60.0)


def test_the_null_platform_passes_where_torch_is_missing(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_null.py").write_text(
        "from kernelet.testing.platform.faults import null_suite\nTestNull = null_suite({})\n"
    )
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "21 passed, 11 skipped" in done.stdout
