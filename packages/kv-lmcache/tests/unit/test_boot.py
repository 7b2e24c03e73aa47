from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelet_kv_lmcache import boot

FAKE = """
import sys
def main():
    print([name for name in sys.modules if name.split(".")[0] == "kernelet"], sys.argv)
"""


@pytest.mark.long  # its stdin is closed at once, which may end it before it has said anything
def test_another_interpreter_sees_this_package_alone(tmp_path):
    """One that has an LMCache of ours, and nothing of this environment."""
    (tmp_path / "lmcache/cli").mkdir(parents=True)
    (tmp_path / "lmcache/cli/main.py").write_text(FAKE)
    command = [sys.executable, "-S", "-P", str(Path(boot.__file__)), "serve", "1234", "--port", "5"]
    environment = {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.PIPE, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() == "[] ['lmcache', 'server', '--port', '5']", done.stderr
