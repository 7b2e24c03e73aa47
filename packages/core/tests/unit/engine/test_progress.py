from __future__ import annotations

import sys

from kernelet.engine.progress import Bar, Progress, progress_bar


def test_there_is_no_bar_unless_stderr_is_a_terminal(monkeypatch, capsys):
    with progress_bar("Working", 3, "things") as progress:
        progress.advance()
    assert type(progress) is Progress
    assert capsys.readouterr() == ("", "")


def test_there_is_one_in_a_terminal_if_it_is_wanted(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert isinstance(progress_bar("Working", 3, "things"), Bar)
    assert type(progress_bar("Working", 3, "things", shown=False)) is Progress


def test_a_bar_counts(monkeypatch):
    with Bar("Working", 3, "things") as bar:
        bar.advance()
        bar.advance(2)
        assert bar._bar.tasks[0].completed == 3
