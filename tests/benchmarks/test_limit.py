"""The program that measures the machine."""

from __future__ import annotations

import os

import pytest
from peers.limit import measure


@pytest.mark.long  # the compiler takes seconds
def test_measures(tmp_path):
    machine = measure(1, tmp_path, rounds=1, buffer_mib=16, millions=1)
    assert 1e8 < machine.bandwidth < 1e13
    assert {"fp32", "int8"} <= machine.rates.keys()
    assert all(1e8 < rate < 1e14 for rate in machine.rates.values())


def test_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(FileNotFoundError, match="install a compiler"):
        measure(1, tmp_path)
