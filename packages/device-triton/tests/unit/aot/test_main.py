from __future__ import annotations

import sys

import pytest

from kernelet_device_triton.aot import __main__ as module


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
def test_what_cannot_work_is_said_before_anything_is_compiled(monkeypatch, capsys, arguments, interpreted, says):
    monkeypatch.setattr(sys, "argv", ["aot", *arguments])
    monkeypatch.setattr(module, "interpreting", lambda: interpreted)
    with pytest.raises(SystemExit) as caught:
        module.main()
    assert caught.value.code == 2
    assert says in capsys.readouterr().err
