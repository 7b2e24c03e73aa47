from __future__ import annotations

import sys

import pytest

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.attention.varlen import attend_varlen
from kernelet_attention_flashinfer.library import check, load_library
from kernelet_attention_flashinfer.stand_in import stand_in


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "flashinfer", None)
    with pytest.raises(ConfigError, match=r"FlashInfer cannot be imported .*install"):
        load_library()


def test_the_check_imports_it():
    with stand_in(attend_varlen):
        check(Settings(plugin="attention-flashinfer"))
