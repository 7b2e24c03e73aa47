from __future__ import annotations

import io

from kernelet_quant_tools.bar import Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_it_is_drawn_on_terminals_only():
    plain, terminal = io.StringIO(), Terminal()
    for stream in (plain, terminal):
        with Bar("awq", 3, stream) as bar:
            bar("model.layers.0.up_proj")
            bar("lm_head")
        assert bar.done == ["model.layers.0.up_proj", "lm_head"]
    assert plain.getvalue() == ""
    assert "awq" in terminal.getvalue()
    assert "2/3" in terminal.getvalue()
