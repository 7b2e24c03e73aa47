from __future__ import annotations

import struct
import sys

import pytest

from kernelet.cli.serve_load.chart import draw, figures_library
from kernelet.cli.serve_load.client import Answer
from kernelet.cli.serve_load.drive import Run
from kernelet.cli.usage import UsageError

GOOD = Answer(sent=0.0, times=[0.1, 0.2], ended=0.3, output_tokens=2)
LOST = Answer(sent=0.0, ended=0.3, error=("HTTP 500", "x"))


@pytest.mark.parametrize("answers", [[GOOD, LOST], [LOST]])
def test_a_png(tmp_path, answers):
    file = tmp_path / "load.png"
    draw(Run(answers=answers, started=0.0, late_s=0.0, client_cpu_s=0.1), "title", file)
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width > height > 100


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"kernelet-core\[bench\]"):
        figures_library()
