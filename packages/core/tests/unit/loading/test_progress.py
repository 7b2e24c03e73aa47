from __future__ import annotations

import io

from kernelet.loading.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_written_where_there_is_no_terminal():
    stream = io.StringIO()
    with Progress("loading", 100, stream) as progress:
        progress.advance(60)
        progress.advance(40)
    assert stream.getvalue() == ""
    assert progress.done == 100


def test_a_terminal_sees_label_and_bytes():
    stream = Terminal()
    with Progress("loading", 4000, stream) as progress:
        progress.advance(2000)
    assert "loading" in stream.getvalue()
    assert "kB" in stream.getvalue()


def test_things_are_counted():
    stream = Terminal()
    with Progress("recording", 7, stream, counts=True) as progress:
        progress.advance(3)
    assert "3/7" in stream.getvalue()
