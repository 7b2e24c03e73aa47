from __future__ import annotations

import argparse

import pytest

from kernelet.errors import ConfigError
from kernelet_quant_tools.command import Quantize

NEEDED = ["model", "--format", "plain", "--out", "x"]


def parsed(*arguments):
    parser = argparse.ArgumentParser()
    Quantize().configure(parser)
    return parser.parse_args([*NEEDED, *arguments])


def test_arguments():
    options = parsed("--option", "a=1", "--option", "b=2", "--exclude", "x,y", "--exclude", "z", "--samples", "3")
    assert (options.model, options.format, options.out) == ("model", "plain", "x")
    assert (options.option, options.exclude) == (["a=1", "b=2"], ["x,y", "z"])
    assert (options.samples, options.seq_len, options.calibration) == (3, None, None)


@pytest.mark.parametrize("flag, value, least", [("--samples", 0, 1), ("--seq-len", 1, 2)])
def test_sizes_must_make_sense(flag, value, least):
    with pytest.raises(ConfigError, match=f"{flag} {value}: expected at least {least}"):
        Quantize().run(parsed(flag, str(value)), None)


def test_it_prints_one_line(monkeypatch, capsys):
    monkeypatch.setattr("kernelet_quant_tools.quantize.quantize", lambda options, _: f"{options.out}: done")
    assert Quantize().run(parsed(), None) == 0
    assert capsys.readouterr().out == "x: done\n"
