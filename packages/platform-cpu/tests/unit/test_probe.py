from __future__ import annotations

from kernelet_platform_cpu import probe


def test_always_there_with_torch():
    assert probe.probe().available
    assert probe.probe().priority == 0


def test_says_that_torch_is_missing(monkeypatch):
    monkeypatch.setattr(probe, "find_spec", lambda name: None)
    found = probe.probe()
    assert not found.available
    assert "pip install torch" in found.reason
