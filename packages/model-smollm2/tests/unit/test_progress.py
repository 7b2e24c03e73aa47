from __future__ import annotations

import io
import sys

from kernelet_model_smollm2.progress import bar, interactive


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_silent_when_stderr_is_no_terminal(capsys):
    assert not interactive()
    with bar("Working", 100) as advance:
        advance(100)
    assert capsys.readouterr() == ("", "")


def test_draws_on_stderr_of_a_terminal(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with bar("Working", 100) as advance:
        advance(50)
    assert "Working" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_unknown_total(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with bar("Working", None) as advance:
        advance(50)
