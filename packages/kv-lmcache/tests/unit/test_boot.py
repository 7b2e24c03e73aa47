from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from kernelet_kv_lmcache import boot

FAKE = """
import sys
def main():
    print([name for name in sys.modules if name.split(".")[0] == "kernelet"], sys.argv)
"""


def test_another_interpreter_sees_this_package_alone(tmp_path):
    """One that has an LMCache of ours, and nothing of this environment."""
    (tmp_path / "lmcache/cli").mkdir(parents=True)
    (tmp_path / "lmcache/cli/main.py").write_text(FAKE)
    command = [sys.executable, "-S", "-P", str(Path(boot.__file__)), "serve", "1234", "--port", "5"]
    environment = {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:  # its stdin stays open while it runs: it ends once that is closed
        assert process.stdout is not None
        assert process.stderr is not None
        late = threading.Timer(120, process.kill)
        late.start()
        said, errors = process.stdout.read(), process.stderr.read()
        late.cancel()
    assert said.strip() == "[] ['lmcache', 'server', '--port', '5']", errors
