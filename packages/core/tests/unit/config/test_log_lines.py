from __future__ import annotations

import logging

import pytest

from kernelet.config.log_lines import LineFormatter


def line(text, **fields):
    record = logging.LogRecord("kernelet.a", logging.WARNING, __file__, 1, "load of %s", (text,), fields.get("error"))
    return LineFormatter("%(levelname)s: %(message)s").format(record)


@pytest.mark.parametrize(
    "text, shown",
    [
        ("é, a\ttab", "é, a\ttab"),
        ("x\nERROR: forged", "x\n  ERROR: forged"),
        ("x\r\nERROR", "x\\r\n  ERROR"),
        ("\x1b[2J\x00\x7f\x85\u2028", r"\x1b[2J\x00\x7f\x85\u2028"),
    ],
)
def test_nothing_but_a_record_begins_a_line(text, shown):
    assert line(text) == f"WARNING: load of {shown}"


def test_errors_of_others_neither():
    error = ValueError("no\nERROR: forged")
    first, *others = line("it", error=(ValueError, error, None)).split("\n")
    assert first == "WARNING: load of it"
    assert others == ["  ValueError: no", "  ERROR: forged"]
