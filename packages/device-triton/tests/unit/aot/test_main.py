from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "arguments, interpreted, says",
    [
        (["--jobs", "0"], False, "--jobs 0: expected at least 1"),
        (["--package", "nope"], False, "no kernels of nope are installed: choose among"),
        (["--write", "/nowhere/at/all/x.md"], False, "there is no folder /nowhere/at/all"),
        (["--write", "x.md", "--target", "sm90"], False, "leave out --target or --write"),
        ([], True, "TRITON_INTERPRET is set"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_compiled(arguments, interpreted, says):
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    variables |= {"TRITON_INTERPRET": "1"} if interpreted else {}
    command = [sys.executable, "-m", "kernelet_device_triton.aot", *arguments]
    run = subprocess.run(command, env=variables, check=False, capture_output=True, text=True)
    assert run.returncode == 2
    assert says in run.stderr
    assert "Traceback" not in run.stderr
